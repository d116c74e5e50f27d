"""The command line: parse, call, print."""

from mercer.cli.app import main

__all__ = ["main"]
