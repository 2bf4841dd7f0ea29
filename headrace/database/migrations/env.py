"""Alembic's environment: runs on the connection and in the transaction of `migrate`."""

from alembic import context

from headrace.database.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table_schema="catalog",
    include_schemas=True,
)
context.run_migrations()
