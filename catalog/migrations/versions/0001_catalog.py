"""The catalog as first released."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    # psycopg itself, without parameters: only then may one call carry many statements.
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    connection = op.get_bind().connection.driver_connection
    assert connection is not None  # noqa: S101 - `migrate` hands an open one over
    connection.execute(script)


def downgrade() -> None:
    raise NotImplementedError("the first migration has nothing before it: drop the schema `catalog` instead")
