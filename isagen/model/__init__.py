"""The values that the steps of a build exchange, and how each value is written to a file and read.

Among them are the plan, the record, the registrations, the names of files and symbols, and the errors. Every other
package may import `model`, which imports no other package.
"""
