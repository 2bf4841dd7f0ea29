"""Copy the OL_* rows to another database; repeatable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from headrace.exports.graph import PAGE
from headrace.exports.installation import verify
from headrace.exports.tables import in_schema
from headrace.exports.targets import TargetRefused, translating_errors

VIEWS = "openlineage"  # the schema of the catalog's own OL_* views

# Each page of these tables includes the dependent rows of others, so that removed columns and inputs are removed as
# well. Rows unknown to the catalog, of another writer, stay.
_REPLACED = {
    "ol_namespace": ("namespace_id", ("ol_namespace",)),
    "ol_dataset": ("dataset_id", ("ol_dataset", "ol_dataset_field")),
    "ol_job": ("job_id", ("ol_job",)),
    "ol_run": ("run_id", ("ol_run", "ol_run_input", "ol_run_output")),
    "ol_column_lineage": ("lineage_id", ("ol_column_lineage",)),
}
_ONLY_OF = sa.text("SELECT set_config('headrace.organisation_id', :organisation, true)")
_UNCOPIED = "ol_schema_version"  # records the installed version


def copy_rows(
    engine: Engine, organisation: UUID, target: Engine, schema: str | None = None
) -> dict[str, int]:
    """Copy the current rows of the catalog's OL_* views of an organisation to the OL_* tables of `target`.

    Returns the number of rows per table. One transaction there, from one snapshot here. Rows with the same key are
    replaced. Raises TargetRefused if the tables are not those that `install` creates.
    """
    if problems := verify(target, schema).problems:
        raise TargetRefused(
            f"{target.url.render_as_string(hide_password=True)} is not ready: {problems[0]}"
            + (f" (and {len(problems) - 1} more)" if len(problems) > 1 else "")
            + "; `headrace setup-lineage` installs the tables"
        )
    targets = {table.name: table for table in in_schema(schema)}
    views = [view for view in in_schema(VIEWS) if view.name != _UNCOPIED]
    copied = dict.fromkeys((view.name for view in views), 0)
    with engine.connect() as read, translating_errors(target), target.connect() as write:
        read = read.execution_options(isolation_level="REPEATABLE READ")
        read.execute(_ONLY_OF, {"organisation": str(organisation)})
        for view in views:
            rows = read.execute(sa.select(view), execution_options={"stream_results": True})
            for page in rows.mappings().partitions(PAGE):
                _replace(write, targets, view.name, page)
                copied[view.name] += len(page)
        write.commit()
    return copied


def _replace(
    write: Connection, targets: Mapping[str, sa.Table], name: str, page: Sequence[sa.RowMapping]
) -> None:
    if name in _REPLACED:
        key, tables = _REPLACED[name]
        keys = [row[key] for row in page]
        for each in tables:
            write.execute(sa.delete(targets[each]).where(targets[each].c[key].in_(keys)))
    write.execute(sa.insert(targets[name]), [dict(row) for row in page])
