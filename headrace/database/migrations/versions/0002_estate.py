"""Processes of other systems: found by scans, distinguished by instance, linked by conditions, with candidates."""

from pathlib import Path

from headrace.database.migrations import run_script

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_script(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    raise NotImplementedError("restore the database from a backup made before the upgrade instead")
