"""The catalog's schema, step by step (Alembic)."""

HEAD = "0001"  # the newest revision, known without importing Alembic: every connection compares it
