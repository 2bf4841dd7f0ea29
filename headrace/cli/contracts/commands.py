"""`headrace contract`: data contracts of the Open Data Contract Standard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, Dataset, examples
from headrace.terminal.contract_cells import print_changes, print_lost
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit, write_text

if TYPE_CHECKING:
    from headrace.contracts.terms import Terms

app = typer.Typer(no_args_is_help=True)
File = Annotated[Path, typer.Argument(metavar="FILE", help="A contract.", exists=True, dir_okay=False)]
OutputFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file. [default: standard output]"),
]


@app.command(epilog=examples("headrace contract export flights/daily_delays --output daily_delays.odcs.yaml"))
def export(
    dataset: Dataset,
    output: OutputFile = None,
    published: Annotated[
        bool, typer.Option("--published", help="Name the files of the published version as a server.")
    ] = False,
) -> None:
    """Export the declaration of a dataset as a contract."""
    from headrace.contracts.document import contract, text_of

    terms = _terms(dataset)
    servers = []
    if published:
        from headrace.contracts.servers import published_server
        from headrace.database.connection import connect

        servers = [published_server(connect(), dataset)]
    write_text(text_of(contract(terms, servers=servers)), output)


@app.command(
    "import", epilog=examples("headrace contract import orders.odcs.yaml --output assets/shop/defs.yaml")
)
def import_contract(file: File, output: OutputFile = None) -> None:
    """Print a contract as a declaration.

    Fields that a declaration does not have are listed on standard error.
    """
    from headrace.contracts.declared import declaration
    from headrace.contracts.reading import read_contract

    found = read_contract(file)
    write_text("---\n".join(map(declaration, found.terms)), output)
    print_lost(found)


@app.command(epilog=examples("headrace contract pin flights/daily_delays --consumer pricing"))
def pin(
    dataset: Dataset,
    consumer: Annotated[
        str,
        typer.Option("--consumer", metavar="NAME", help="The team or system that relies on the contract."),
    ],
    as_json: AsJson = False,
) -> None:
    """Pin the contract of a dataset for a consumer.

    `headrace check` then refuses changes that break it.
    """
    from headrace.contracts.pins import pin as pin_contract
    from headrace.project import project_root

    file = pin_contract(project_root(), _terms(dataset), consumer).relative_to(project_root())
    emit({"dataset": dataset, "consumer": consumer, "file": file}) if as_json else typer.echo(
        f"Wrote {file}."
    )


@app.command(epilog=examples("headrace contract diff flights/daily_delays"))
def diff(
    dataset: Dataset,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="A contract. [default: those pinned]", exists=True, dir_okay=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare a dataset's declaration with contracts. Exits with 1 if a change breaks one."""
    from headrace.contracts.pins import compare_file, compare_pinned
    from headrace.project import project_root

    terms = _terms(dataset)
    found = [compare_file(file, terms)] if file else compare_pinned(project_root(), terms)
    if as_json:
        emit({"dataset": dataset, "contracts": found})
    else:
        print_changes(dataset, found)
    broken = sum(bool(each.breaking) for each in found)
    if broken:
        raise CommandError(f"{dataset} breaks {broken} of {len(found)} contracts")


def _terms(dataset: str) -> Terms:
    from headrace.contracts.terms import terms_of
    from headrace.declarations.loading.code import project_code

    return terms_of(project_code().loaded.plans, dataset)
