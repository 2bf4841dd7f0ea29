"""Search datasets by name, owner, tag, column, description and code, tolerant of typing errors."""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.sensitivity import Public, SubjectKey
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.queries.filters import ALL_DATASETS, DatasetFilter
from headrace.queries.sql import statement

MAX_WORDS = 12  # words per query
NAMED_TAGS = ("classification", "layer", "migration")  # tags that are filters of their own
MAX_RANKED_DATASETS = 1000  # datasets per kind of match
_MAX_SIMILAR_WORDS = 50  # words compared with a misspelt one
_MAX_REPLACEMENTS = 8  # of a misspelt word
_LIKENESS = 0.65  # minimum similarity of a replacement, of 1.0


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A dataset that matches a query; a higher score is a better match. columns: a few with words of the query.
    in_code: only the code that writes it matches."""

    dataset_id: UUID
    key: SubjectKey
    description: Public[str | None]
    format: Public[str]
    owners: Public[tuple[str, ...]]
    tags: Public[dict[str, str]]
    status: Public[str]
    score: float
    in_code: bool
    columns: Public[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Matching datasets, best first. misspelt: words of the query that were replaced by similar ones."""

    rows: tuple[SearchHit, ...]
    misspelt: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilterCount:
    """A value of a filter and the number of its datasets.

    filter: `domain`, `owner`, `tag`, `column_tag`, `format`, `sla` or `quality`.
    """

    filter: Public[str]
    value: Public[str]
    count: int


def search(
    engine: Engine,
    query: str,
    wanted: DatasetFilter = ALL_DATASETS,
    *,
    code_of: Collection[str] | None = (),
    skip: int = 0,
    limit: int = 20,
) -> SearchResult:
    """Return datasets that match all words of the query, best first, without the first `skip`.

    A word of three letters or more matches as a prefix. A word that no dataset has is replaced by the most similar
    ones; if there are none, nothing is found. At most MAX_RANKED_DATASETS with matching names are ranked, and as many
    with matches elsewhere. code_of: the domains in which code is searched as well; None: in all.
    """
    with transaction(engine) as cursor:
        tokens = _tokens(cursor, query, code_of)
        if not tokens or () in tokens.values():
            return SearchResult((), ())
        rows = statement("datasets/search").execute(
            cursor,
            {**_parameters(query, tokens, code_of), **wanted.parameters(), "skip": skip, "limit": limit},
        )
        found = tuple(
            SearchHit(**{**row, "owners": tuple(row["owners"]), "columns": tuple(row["columns"])})
            for row in rows
        )
    return SearchResult(found, tuple(token for token, words in tokens.items() if words is not None))


def filter_counts(
    engine: Engine,
    query: str | None,
    wanted: DatasetFilter,
    *,
    code_of: Collection[str] | None = (),
    limit: int = 12,
) -> list[FilterCount]:
    """Return for each filter the `limit` values with the most datasets, of those that match the query and filters; for
    each of NAMED_TAGS as many. code_of: as in `search`."""
    with transaction(engine) as cursor:
        tokens = _tokens(cursor, query, code_of) if query else {}
        if () in tokens.values() or (query and not tokens):
            return []
        parameters = {
            **_parameters(query or "", tokens, code_of),
            **wanted.parameters(),
            "limit": limit,
            "tags": list(NAMED_TAGS),
        }
        rows = statement("datasets/filter_counts").execute(cursor, parameters)
        return [FilterCount(**row) for row in rows]


def _parameters(
    query: str, tokens: dict[str, tuple[str, ...] | None], code_of: Collection[str] | None
) -> dict[str, object]:
    return {
        "organisation": current_context().organisation_id,
        "query": query.strip(),
        "in_names": _query(tokens, "A") or None,
        "anywhere": _query(tokens, "") or None,
        "ranked": MAX_RANKED_DATASETS,
        "code_domains": None if code_of is None else list(code_of),
    }


def _tokens(
    cursor: Cursor[Any], query: str, code_of: Collection[str] | None
) -> dict[str, tuple[str, ...] | None]:
    """Return the words of the query: None for a known one, otherwise its possible replacements."""
    cursor.execute("SELECT * FROM catalog.known_words(%s, %s)", [current_context().organisation_id, query])
    known = {row["token"]: row["is_known"] for row in cursor.fetchmany(MAX_WORDS)}
    return {
        token: None if is_known or _is_in_code(cursor, token, code_of) else _meant(cursor, token)
        for token, is_known in known.items()
    }


def _is_in_code(cursor: Cursor[Any], token: str, code_of: Collection[str] | None) -> bool:
    if code_of is not None and not code_of:
        return False
    domains = None if code_of is None else list(code_of)
    cursor.execute(
        "SELECT FROM catalog.datasets_by_code(%s, %s::tsquery, %s::text[], 1)",
        [current_context().organisation_id, _beginning(token, ""), domains],
    )
    return cursor.rowcount > 0


def _meant(cursor: Cursor[Any], token: str) -> tuple[str, ...]:
    """Return possible replacements of a misspelt word, most likely first."""
    cursor.execute(
        "SELECT word FROM catalog.similar_words(%s, %s, %s) AS word",
        [current_context().organisation_id, token, _MAX_SIMILAR_WORDS],
    )
    likely = sorted(((_likeness(token, row["word"]), row["word"]) for row in cursor), reverse=True)
    return tuple(word for likeness, word in likely[:_MAX_REPLACEMENTS] if likeness >= _LIKENESS)


def _likeness(token: str, word: str) -> float:
    """Return the similarity of two words; a longer word may match by its prefix."""
    beginning = word[: len(token)]
    return max(SequenceMatcher(None, token, each).ratio() for each in (word, beginning))


def _query(tokens: dict[str, tuple[str, ...] | None], place: str) -> str:
    """Format the query as a tsquery; words have neither quotes nor backslashes."""
    return " & ".join(
        f"({_beginning(token, place) if words is None else ' | '.join(_word(each, place) for each in words)})"
        for token, words in tokens.items()
    )


def _beginning(token: str, place: str) -> str:
    return f"'{token}':*{place}" if len(token) >= 3 else _word(token, place)


def _word(token: str, place: str) -> str:
    return f"'{token}':{place}" if place else f"'{token}'"
