"""Sets projects up (`isagen init`), checks them (`isagen doctor`), and makes one to try (`isagen demo`)."""
