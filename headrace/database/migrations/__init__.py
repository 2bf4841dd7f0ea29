"""Migrations of the catalog's schema (Alembic): the revisions, which make and change tables.

Functions, triggers and views are not in revisions: see `headrace.database.repeatable`.
"""

from pathlib import Path

from sqlalchemy import Connection

HEAD = "0001"  # the newest revision, known without importing Alembic: every connection compares it


def run_script(script: Path) -> None:
    """Execute the statements of a revision, one after another, in its transaction."""
    from alembic import op

    run_statements(op.get_bind(), script.read_text(encoding="utf-8"))


def run_statements(connection: Connection, text: str) -> None:
    """Execute the statements of a text, one after another, in the transaction of the connection."""
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101 - the connection is open
    # psycopg itself, without parameters: only then may one call carry many statements.
    driver.execute(text)
