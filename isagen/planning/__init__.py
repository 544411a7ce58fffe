"""Planning: from table, configuration and verdicts to the plan. Pure: no input or output but reading isa.toml."""
