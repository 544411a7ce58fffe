"""The command line: modules of commands, and `main`, which turns errors that stop a command into exit statuses."""

from .main import main as main
