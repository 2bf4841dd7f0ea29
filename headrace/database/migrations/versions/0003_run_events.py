"""What other systems say of their runs, kept as said, and the state that it comes to."""

from pathlib import Path

from headrace.database.migrations import run_script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_script(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    raise NotImplementedError("restore the database from a backup made before the upgrade instead")
