"""Run events of external systems, stored raw, and the run state derived from them."""

from pathlib import Path

from headrace.database.migrations import run_script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_script(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    raise NotImplementedError("restore the database from a backup made before the upgrade instead")
