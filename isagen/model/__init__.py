"""The model: the values that travel between the steps of a build, and how each is written and read.

The plan, the record, the registrations, the names of files and symbols, and the errors. Every other package imports
this one; it imports none of them.
"""
