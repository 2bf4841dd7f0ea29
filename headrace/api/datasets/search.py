"""The dataset search route."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import Public
from headrace.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.api.responses import shown
from headrace.api.subjects import Database, Filtered, Reader
from headrace.queries.search import MAX_RANKED_DATASETS, FilterCount, SearchHit, filter_counts, search

router = APIRouter(prefix="/api/v1", tags=["datasets"])


class SearchPage(Page[SearchHit]):
    """Matching datasets, best first. misspelt: words that matched no dataset and were replaced by similar ones."""

    misspelt: Public[list[str]] = Field(
        description="Words that matched no dataset and were replaced by similar ones."
    )


@router.get("/search", summary="Find datasets by words", response_model=SearchPage)
def find_datasets(
    engine: Database,
    caller: Reader,
    wanted: Filtered,
    q: Annotated[str, Query(min_length=1, max_length=500, description="Words, or how they begin.")],
    cursor: Cursor = None,
    limit: Limit = 20,
) -> Response:
    """Find datasets that match all words in name, owners, tags, columns or description; typing errors are tolerated.

    Callers with `read-sensitive` also find datasets by the code that writes them."""
    (skip,) = (
        place_of(cursor, tuple[Annotated[int, Field(ge=0, le=2 * MAX_RANKED_DATASETS)]]) if cursor else (0,)
    )
    found = search(engine, q, wanted, code_of=_code_of(caller), skip=skip, limit=limit + 1)
    following = cursor_of(skip + limit) if len(found.rows) > limit else None
    page = SearchPage(items=list(found.rows[:limit]), next=following, misspelt=list(found.misspelt))
    return shown(engine, caller, page)


@router.get("/search/counts", summary="Count datasets by filter", response_model=list[FilterCount])
def count_datasets(
    engine: Database,
    caller: Reader,
    wanted: Filtered,
    q: Annotated[str | None, Query(max_length=500, description="Words, or how they begin.")] = None,
) -> Response:
    """Count the datasets that match by domain, owner, tag, tag of columns, format, SLA status and quality score."""
    return shown(engine, caller, filter_counts(engine, q, wanted, code_of=_code_of(caller)))


def _code_of(caller: Caller) -> Collection[str] | None:
    """Return the domains of which the caller may read code; None for all."""
    scope = caller.scope(Permission.READ_SENSITIVE)
    return scope.domains if scope else ()
