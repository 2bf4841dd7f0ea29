"""Processes of other systems: found by scans, told apart by instance, linked by conditions, with candidates."""

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    connection = op.get_bind().connection.driver_connection
    assert connection is not None  # noqa: S101 - `migrate` hands an open one over
    connection.execute(script)


def downgrade() -> None:
    raise NotImplementedError("restore the database from a backup made before the upgrade instead")
