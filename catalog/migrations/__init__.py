"""The catalog's schema, step by step (Alembic)."""

HEAD = "0003"  # the newest revision, known without importing Alembic: every connection compares it
