"""Binary formats: one package for each, behind the protocols of `protocol`; `formats` lists them."""
