"""The command line."""

from headrace.cli.main import app

__all__ = ["app"]
