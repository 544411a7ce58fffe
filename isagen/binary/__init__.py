"""Binary formats: one package for each, behind the questions of `protocol`; `formats` lists them."""
