"""Queries on a large catalog over HTTP: lineage and impact in a million edges, search in 100,000 datasets.

On a fresh server in a temporary folder, as a service that may read; some edges make circles, and one dataset is a hub.
Run: python -m benchmarks.graph [--json]
"""

import json
import logging
import os
import random
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
import uvicorn
from rich.console import Console
from rich.table import Table
from sqlalchemy import Engine

from headrace.access.callers import Permission
from headrace.access.tokens import issue_service_token
from headrace.context import current_context
from headrace.database import connection as database
from headrace.database import embedded
from headrace.service.server import application
from headrace.settings import settings

HUB = 10_000  # datasets that are computed from one
WORDS = [
    "account",
    "address",
    "agreement",
    "balance",
    "basket",
    "booking",
    "branch",
    "campaign",
    "card",
    "carrier",
    "category",
    "channel",
    "claim",
    "client",
    "contract",
    "country",
    "credit",
    "currency",
    "customer",
    "daily",
    "delay",
    "delivery",
    "deposit",
    "device",
    "discount",
    "employee",
    "event",
    "exposure",
    "flight",
    "forecast",
    "fraud",
    "hourly",
    "inventory",
    "invoice",
    "journal",
    "ledger",
    "limit",
    "loan",
    "location",
    "market",
    "member",
    "merchant",
    "monthly",
    "offer",
    "order",
    "partner",
    "passenger",
    "payment",
    "planned",
    "policy",
    "portfolio",
    "position",
    "price",
    "product",
    "profile",
    "purchase",
    "quote",
    "rating",
    "receipt",
    "refund",
    "region",
    "rental",
    "report",
    "reservation",
    "return",
    "review",
    "risk",
    "route",
    "salary",
    "sales",
    "schedule",
    "segment",
    "session",
    "settlement",
    "shipment",
    "snapshot",
    "station",
    "stock",
    "store",
    "subscription",
    "summary",
    "supplier",
    "ticket",
    "trade",
    "transaction",
    "transfer",
    "trip",
    "usage",
    "vehicle",
    "vendor",
    "visit",
    "voucher",
    "warehouse",
    "weather",
    "weekly",
]

_DATASETS = """
INSERT INTO catalog.dataset (
    dataset_id, organisation_id, namespace, name, full_name, description, default_format, owners, tags, columns,
    metadata_json, declaration_hash
)
SELECT ('00000000-0000-0000-0000-' || lpad(to_hex(number), 12, '0'))::uuid, %(organisation)s, domain, name,
       domain || '/' || name, 'The ' || replace(name, '_', ' ') || ' of ' || domain, 'parquet',
       ARRAY['team:' || domain], '{"tier": "gold"}',
       '[{"name": "id", "type": "bigint", "nullable": true, "description": null, "tags": []}]', '{}', ''
FROM unnest(%(domains)s::text[], %(names)s::text[], %(numbers)s::int[]) AS given (domain, name, number)
"""
_EDGES = """
INSERT INTO catalog.lineage_edge (
    organisation_id, source_type, source_id, target_type, target_id, edge_role, origin, valid_from
)
SELECT %(organisation)s, 'DATASET', ('00000000-0000-0000-0000-' || lpad(to_hex(source), 12, '0'))::uuid, 'DATASET',
       ('00000000-0000-0000-0000-' || lpad(to_hex(target), 12, '0'))::uuid, 'DERIVES', 'OBSERVED', '2026-01-01Z'
FROM unnest(%(sources)s::int[], %(targets)s::int[]) AS given (source, target)
ON CONFLICT DO NOTHING
"""


def main(
    datasets: Annotated[int, typer.Option(help="Datasets in the catalog.")] = 100_000,
    edges: Annotated[int, typer.Option(help="Edges between them.")] = 1_000_000,
    questions: Annotated[int, typer.Option(help="Questions of each kind.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure, and print milliseconds."""
    chance = random.Random(1)
    with new_engine() as engine:
        began = time.perf_counter()
        names = fill(engine, datasets, edges, chance)
        filled = time.perf_counter() - began
        token = issue_service_token(engine, "benchmark", [Permission.READ], by="benchmark")
        with served({"Authorization": f"Bearer {token}"}) as client:
            report: dict[str, Any] = {
                "cpus": os.cpu_count(),
                "datasets": datasets,
                "edges": edges,
                "filled_in_seconds": round(filled, 1),
                "milliseconds": _questions(client, names, questions, chance),
                "hub": _hub(client, names[0]),
                "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _show(report)


def _questions(
    client: httpx.Client, names: list[str], questions: int, chance: random.Random
) -> dict[str, dict[str, float]]:
    def lineage(direction: str) -> Callable[[], None]:
        return lambda: _get(client, f"dataset/{chance.choice(names)}/lineage", direction=direction, depth=10)

    return {
        "lineage of depth 10, upstream": timed(lineage("upstream"), questions),
        "lineage of depth 10, downstream": timed(lineage("downstream"), questions),
        "direct impact": timed(
            lambda: _get(client, f"dataset/{chance.choice(names)}/impact", depth=1), questions
        ),
        "a dataset": timed(lambda: _get(client, f"dataset/{chance.choice(names)}"), questions),
        "search, one word": timed(lambda: _search(client, chance.choice(WORDS)), questions),
        "search, its beginning": timed(lambda: _search(client, chance.choice(WORDS)[:4]), questions),
        "search, three words": timed(
            lambda: _search(client, chance.choice(names).replace("/", " ").replace("_", " ")), questions
        ),
        "search, a word typed wrongly": timed(
            lambda: _search(client, wrong(chance.choice(WORDS), chance)), questions
        ),
        "search, a name typed wrongly": timed(
            lambda: _search(
                client,
                " ".join(wrong(word, chance) for word in chance.choice(names).partition("/")[2].split("_")),
            ),
            questions,
        ),
    }


def _hub(client: httpx.Client, name: str) -> dict[str, float]:
    """All pages of who is hit by the hub, directly."""
    pages, rows, cursor, times = 0, 0, None, []
    while pages == 0 or cursor:
        began = time.perf_counter()
        page = _get(
            client, f"dataset/{name}/impact", depth=1, limit=500, **({"cursor": cursor} if cursor else {})
        )
        times.append(time.perf_counter() - began)
        pages, rows, cursor = pages + 1, rows + len(page["items"]), page["next"]
    return {"readers": rows, "pages": pages, "longest_page_ms": round(max(times) * 1000, 1)}


def timed(ask: Callable[[], object], times: int) -> dict[str, float]:
    ask()
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - began) * 1000)
    cuts = statistics.quantiles(taken, n=100)
    return {"p50": round(cuts[49], 1), "p95": round(cuts[94], 1), "p99": round(cuts[98], 1)}


def _get(client: httpx.Client, path: str, **params: Any) -> Any:  # noqa: ANN401 - JSON
    answer = client.get(f"/api/v1/{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _search(client: httpx.Client, words: str) -> None:
    assert _get(client, "search", q=words)["items"], words


def wrong(word: str, chance: random.Random) -> str:
    """The word with two neighbours exchanged, a letter left out, or one doubled."""
    at = chance.randrange(1, len(word) - 1)
    if not word.isalpha() or len(word) < 5:
        return word
    return chance.choice(
        [
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
        ]
    )


def fill(engine: Engine, datasets: int, edges: int, chance: random.Random) -> list[str]:
    domains = [f"{word}s" for word in chance.sample(WORDS, 40)]
    given = [
        (chance.choice(domains), f"{chance.choice(WORDS)}_{chance.choice(WORDS)}_{number}")
        for number in range(datasets)
    ]
    sources, targets = _drawn(datasets, edges, chance)
    with database.transaction(engine) as cursor:
        parameters = {"organisation": current_context().organisation_id}
        cursor.execute(
            "INSERT INTO catalog.organisation (organisation_id, name) VALUES (%s, 'default') ON CONFLICT DO NOTHING",
            [current_context().organisation_id],
        )
        for begin in range(0, datasets, 10_000):
            part = given[begin : begin + 10_000]
            named = {"domains": [domain for domain, _ in part], "names": [name for _, name in part]}
            numbers = list(range(begin + 1, begin + len(part) + 1))
            cursor.execute(_DATASETS, {**parameters, **named, "numbers": numbers})
        for begin in range(0, len(sources), 100_000):
            part_of = slice(begin, begin + 100_000)
            cursor.execute(_EDGES, {**parameters, "sources": sources[part_of], "targets": targets[part_of]})
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")  # as autovacuum does in time
    return [f"{domain}/{name}" for domain, name in given]


def _drawn(datasets: int, edges: int, chance: random.Random) -> tuple[list[int], list[int]]:
    """The hub is number 1; a dataset is computed from ones near it, a hundredth of the edges lead back."""
    sources = [1] * HUB + list(range(1, 101))
    targets = [chance.randrange(2, datasets + 1) for _ in range(HUB)] + list(range(1, 101))  # and self-loops
    while len(sources) < edges:
        near = chance.randrange(2, datasets + 1)
        far = min(datasets, near + chance.randrange(1, 2000))
        back = chance.random() < 0.01
        sources.append(far if back else near)
        targets.append(near if back else far)
    return sources, targets


@contextmanager
def new_engine() -> Iterator[Engine]:
    with tempfile.TemporaryDirectory(prefix="headrace-graph-") as folder:
        home = Path(folder)
        try:
            os.environ["HEADRACE_DATABASE_URL"] = embedded.start(home)
            settings.cache_clear()
            yield database.connect()
            database.disconnect()
        finally:
            embedded.stop(home)


@contextmanager
def served(headers: dict[str, str]) -> Iterator[httpx.Client]:
    """A client, with these headers, of the service over the configured catalog."""
    config = uvicorn.Config(application, factory=True, port=0, log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    for handler in logging.getLogger("headrace.access").handlers:  # written, but not here
        assert isinstance(handler, logging.StreamHandler)
        handler.setStream(Path(os.devnull).open("w"))  # noqa: SIM115 - as long as the server
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


def _show(report: dict[str, Any]) -> None:
    table = Table("question", "p50 ms", "p95 ms", "p99 ms")
    for name, taken in report["milliseconds"].items():
        table.add_row(name, *(str(taken[cut]) for cut in ("p50", "p95", "p99")))
    console = Console(width=120)
    console.print(table)
    console.print(
        f"{report['datasets']:,} datasets, {report['edges']:,} edges, {report['cpus']} CPUs; filled in "
        f"{report['filled_in_seconds']} s; hub: {report['hub']}; peak {report['peak_mb']} MB"
    )


if __name__ == "__main__":
    typer.run(main)
