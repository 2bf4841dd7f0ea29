"""Queue every completion of an external process, not only the newest of each process and dataset."""

from pathlib import Path

from headrace.database.migrations import run_script

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run_script(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    raise NotImplementedError("restore the database from a backup made before the upgrade instead")
