"""The command line: one module for each command, and `main`, the one place that turns an error into an exit."""

from .main import main as main
