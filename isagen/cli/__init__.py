"""The command line: modules of commands, and `main`, the one place that turns an error into an exit."""

from .main import main as main
