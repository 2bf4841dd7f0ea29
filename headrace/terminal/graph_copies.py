"""Results of synchronising copies of the lineage graph in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from headrace.terminal.errors import warn

if TYPE_CHECKING:
    from headrace.exports.synchronisation import SynchronisationResult


def show_synchronised(done: Mapping[str, SynchronisationResult], *, is_dry: bool) -> None:
    """Print a line for each system, and warn of what it refused."""
    for name, each in done.items():
        whole = "the whole graph: " if each.whole else ""
        counts = f"{each.written:,} nodes and edges {'to write' if is_dry else 'written'}, {each.removed:,} removed"
        typer.echo(f"{name}: {whole}{counts}.")
        for problem in each.problems:
            warn(problem)
