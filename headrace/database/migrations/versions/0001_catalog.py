"""The catalog as first released."""

from pathlib import Path

from headrace.database.migrations import run_script

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_script(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    raise NotImplementedError("the first migration has nothing before it: drop the schema `catalog` instead")
