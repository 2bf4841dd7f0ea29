"""Statements whose cost does not depend on the planner's statistics."""

from pathlib import Path

from headrace.database.migrations import run_script

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    run_script(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    raise NotImplementedError("restore the database from a backup made before the upgrade instead")
