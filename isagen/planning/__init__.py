"""Makes the plan from the table, isa.toml and the verdicts of probes. Only `config` reads a file."""
