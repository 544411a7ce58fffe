"""What all other packages share: the values that the steps of a build exchange, their files, names and errors.

Every other package may import `model`, which imports no other package.
"""
