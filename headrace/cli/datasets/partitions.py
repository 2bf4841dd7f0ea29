"""`headrace partitions`: the partitions of a dataset, and the keys of dynamic ones."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.terminal.arguments import AsJson, Dataset, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit, show, table

app = typer.Typer()
_Keys = list[str] | None


@app.command(
    epilog=examples("headrace partitions crm/invoices", "headrace partitions crm/invoices --add acme")
)
def partitions(
    dataset: Dataset,
    add: Annotated[
        _Keys, typer.Option("--add", metavar="KEY", help="Add a key to dynamic partitions.")
    ] = None,
    remove: Annotated[
        _Keys, typer.Option("--remove", metavar="KEY", help="Remove a key; published versions stay.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the partitions of a dataset, or change dynamic ones.

    Keys of dynamic partitions are also added by landed files, by completions that trigger a run, and by datasets with
    `adds_partitions`. All datasets whose partitions have the same name share the keys.
    """
    import dagster as dg

    from headrace.dagster_internals import partition_loading_context
    from headrace.database.connection import connect
    from headrace.declarations.loading.code import project_code
    from headrace.errors import UnknownDataset
    from headrace.execution.partitions import is_single_key
    from headrace.local.environment import dagster_instance
    from headrace.queries.versions import published

    key = dg.AssetKey.from_user_string(dataset)
    graph = project_code().defs.resolve_asset_graph()
    definition = graph.get(key).partitions_def if graph.has(key) else None
    if definition is None:
        raise CommandError(f"this project declares no dataset {dataset} with partitions")
    with dagster_instance() as instance:
        if add or remove:
            if not isinstance(definition, dg.DynamicPartitionsDefinition):
                raise CommandError(f"the partitions of {dataset} are declared and not dynamic")
            if wrong := [each for each in add or () if not is_single_key(each)]:
                raise CommandError(
                    f"{wrong[0]!r} is not a key: it may not be empty or contain ',', '|' or '...'"
                )
            name = str(definition.name)
            instance.add_dynamic_partitions(name, add or [])
            for each in remove or ():
                instance.delete_dynamic_partition(name, each)
        with partition_loading_context(dynamic_partitions_store=instance):
            keys = definition.get_partition_keys()
    try:
        versions = {row.partition: row for row in published(connect(), [dataset])}
    except UnknownDataset:  # it has never been materialized
        versions = {}
    keys = [*keys, *sorted(each for each in versions if each is not None and each not in set(keys))]
    if as_json:
        emit({"partitions": [{"key": each, "published": versions.get(each)} for each in keys]})
        return
    rows = [
        (each, row.version.tag if row else None, row.published_at if row else None)
        for each in keys
        for row in [versions.get(each)]
    ]
    show(table(["partition", "published version", "published"], rows))
