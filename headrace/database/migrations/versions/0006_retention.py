"""Archive files, and the daily roll-ups that outlive archived rows."""

from pathlib import Path

from headrace.database.migrations import run_script

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    run_script(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    raise NotImplementedError("restore the database from a backup made before the upgrade instead")
