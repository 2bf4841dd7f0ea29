"""Commands that serve HTTP."""
