"""The command line: what a person or a script asks of the catalog, and starts."""

from headrace.cli.main import app

__all__ = ["app"]
