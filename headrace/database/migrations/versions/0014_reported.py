"""More facts reported by external producers."""

from pathlib import Path

from headrace.database.migrations import run_script

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    run_script(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    raise NotImplementedError("restore the database from a backup made before the upgrade instead")
