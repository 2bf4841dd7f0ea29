"""Commands that serve HTTP, and those that ask the service."""
