"""`headrace replay`: compute a version once more and compare."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.terminal.arguments import AsJson, Dataset, Partition, examples, version_tags
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit, facts, show, table

app = typer.Typer()


@app.command(epilog=examples("headrace replay flights/daily_delays 20261129T041500Z-5e6f7a8b"))
def replay(
    dataset: Dataset,
    version: Annotated[
        str, typer.Argument(metavar="VERSION", help="The version's tag.", autocompletion=version_tags)
    ],
    partition: Partition = None,
    as_json: AsJson = False,
) -> None:
    """Compute a version again from its exact inputs, and compare.

    Nothing is published. The code must be that of the version; otherwise the commit that wrote it is named. The result
    is identical (equal files), equal (equal rows in other files) or different, with exit code 1.
    """
    from headrace.database.connection import connect
    from headrace.declarations.loading.code import project_code
    from headrace.execution.plan import ProcessPlan
    from headrace.execution.replay import Verdict
    from headrace.execution.replay import replay as compute
    from headrace.project import project_root
    from headrace.queries.versions import tagged
    from headrace.terminal.frames import session
    from headrace.terminal.progress import progress

    engine = connect()
    versions = tagged(engine, dataset, version, partition)
    code = project_code()
    plans = [plan for plan in code.loaded.plans if isinstance(plan, ProcessPlan)]
    found = [(plan, each) for plan in plans for each in plan.outputs if each.record.key == dataset]
    if not found:
        raise CommandError(f"this project does not compute {dataset}: replay it in the project that does")
    with progress(f"computing {dataset} again"):
        graph = code.defs.resolve_asset_graph()
        result = compute(engine, *found[0], versions, session(), project_root(), graph)
    if as_json:
        emit({"dataset": dataset, "version": version, "replay": result})
    else:
        changed = [f"{name} {then}, now {now}" for name, (then, now) in result.environment.items()]
        differences = result.comparison
        show(
            facts(
                [
                    ("result", result.verdict.lower()),
                    ("rows", f"{result.rows:,}"),
                    ("may differ each time", ", ".join(result.functions) or None),
                    ("environment", "\n".join(changed) or "as it was"),
                    ("schema", "\n".join((*result.schema.breaking, *result.schema.compatible)) or None),
                    ("rows added", differences and f"{differences.added:,}"),
                    ("rows removed", differences and f"{differences.removed:,}"),
                    ("rows changed", differences and differences.changed and f"{differences.changed:,}"),
                ]
            )
        )
        for kind, rows in differences.samples.items() if differences else ():
            show(table(list(rows[0]), [list(row.values()) for row in rows], title=f"{kind}, for example"))
    if result.verdict is Verdict.DIFFERENT:
        raise typer.Exit(1)
