"""Migrations of the catalog's schema (Alembic): the revisions, which make and change tables.

Functions, triggers and views are not in revisions: see `headrace.database.repeatable`.
"""

from pathlib import Path

from sqlalchemy import Connection

# The newest revision, by the names of the modules: every connection compares it, and importing Alembic takes long.
HEAD = max(module.name[:4] for module in Path(__file__).with_name("versions").glob("[0-9]*.py"))


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
