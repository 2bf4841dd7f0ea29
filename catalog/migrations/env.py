"""How Alembic meets the catalog: on the connection that `catalog.database.migrate` hands over, in its transaction."""

from alembic import context

from catalog.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table_schema="catalog",
    include_schemas=True,
)
context.run_migrations()
