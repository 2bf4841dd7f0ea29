"""`headrace legacy poll`: poll the processes of legacy/polls.yaml now."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.nouns import counted
from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.errors import CommandError, complain
from headrace.terminal.output import emit

app = typer.Typer()


@app.command(epilog=examples("headrace legacy poll", "headrace legacy poll run_management --dry-run"))
def poll(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only this poll.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the reports, and store nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Poll databases and endpoints for runs that changed.

    The polls are declared in legacy/polls.yaml, and `headrace up` runs them continuously. Their reports are written to
    the folder of completions, where they are ingested. Exits with 1 if a poll fails.
    """
    from headrace.local.environment import dagster_instance
    from headrace.orchestration.sensors.polls import poll_once
    from headrace.polling.polls import FILE, load_polls
    from headrace.polling.reading import PollFailed
    from headrace.project import project_root
    from headrace.spark.errors import ResourceError
    from headrace.terminal.progress import own_output

    loaded = load_polls(project_root())
    for problem in loaded.problems:
        complain(str(problem))
    chosen = [each for each in loaded.polls if name in (None, each.name)]
    if not chosen:
        known = ", ".join(each.name for each in loaded.polls) or "none"
        raise CommandError(f"{FILE} has no poll {name}; it has: {known}" if name else f"{FILE} has no poll")
    failed, results = bool(loaded.problems), []
    with dagster_instance() as instance, own_output() as terminal:
        for each in chosen:
            try:
                polled = poll_once(instance, each, dry_run=dry_run)
            except (PollFailed, ResourceError, OSError) as error:
                terminal.write(f"{each.name}: {error}\n")
                failed = True
            else:
                results.append((each.name, polled))
    if as_json:
        emit(
            {
                "polls": [
                    {"name": name, "rows": it.rows, "reports": it.reports, "watermark": it.state.watermark}
                    for name, it in results
                ]
            }
        )
    else:
        for poll_name, it in results:
            more = ", more to come" if it.state.is_behind else ""
            typer.echo(
                f"{poll_name}: {counted(it.rows, 'row')}, {counted(len(it.reports), 'report')}, up to "
                f"{it.state.watermark}{more}"
            )
            for report in it.reports if dry_run else ():
                typer.echo(f"  {report}")
    if failed:
        raise typer.Exit(1)
