"""Alembic's environment: runs on the connection and in the transaction of `migrate`."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table_schema="catalog")
context.run_migrations()
