"""Binary formats: one package for each."""
