"""The tables of the catalog, by subject."""

from pathlib import Path

from headrace.database.migrations import run_script

revision = "0001"
down_revision = None

# A table comes after those that it refers to.
SUBJECTS = (
    "access",
    "datasets",
    "versions",
    "profiles",
    "runs",
    "lineage",
    "quality",
    "retention",
    "estates",
    "slas",
    "alerts",
    "openlineage",
    "iceberg",
    "openmetadata",
    "scripts",
)


def upgrade() -> None:
    for subject in SUBJECTS:
        run_script(Path(__file__).with_suffix("") / f"{subject}.sql")


def downgrade() -> None:
    raise NotImplementedError("the first revision has nothing before it: drop the schema `catalog` instead")
