"""The page of the lineage of a dataset or process."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta
from uuid import UUID
from xml.etree import ElementTree

from sqlalchemy import Engine

from headrace.access.callers import Role
from headrace.catalog.column_lineage import ColumnLineage, ColumnSource, How, LineageOfOutput, Subtype
from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.database.connection import transaction
from headrace.pages.lineage.folding import MAX_NEIGHBOURS
from headrace.registration.declarations import register
from headrace.slas.tick import evaluate
from tests.platform.service.conftest import DATASETS, PROCESSES, put
from tests.platform.service.pages.conftest import Browse

HOSTILE = '"><script>alert(1)</script>'


def _drawn(page: str) -> list[str]:
    return re.findall(r"<title>((?:Dataset|Process) [^<]*)</title>", page)


def test_one_step_in_both_directions_comes_first(browse: Browse) -> None:
    page = browse().open("/lineage/mart/delays")

    assert sorted(_drawn(page)) == [
        "Dataset mart/delays",
        "Dataset mart/report",
        "Dataset raw/flights",
        "Process mart/delays",
        "Process mart/report",
    ]
    assert page.count('class="edge"') == 4
    assert "5 datasets and processes." in page


def test_direction_and_steps_decide_what_is_drawn(browse: Browse) -> None:
    browser = browse()

    upstream = browser.open("/lineage/mart/report?direction=upstream")
    assert "Dataset raw/flights" not in _drawn(upstream)
    assert "0 of 1 upstream of mart/delays shown, show more" in upstream
    assert "Dataset raw/flights" in _drawn(browser.open("/lineage/mart/report?direction=upstream&depth=2"))
    assert len(_drawn(browser.open("/lineage/mart/report?direction=downstream"))) == 0
    assert "Nothing is known that leads from it." in browser.open("/lineage/mart/report?direction=downstream")
    browser.open("/lineage/mart/report?depth=11", 422)


def test_a_fold_leads_to_more_neighbours(browse: Browse) -> None:
    browser = browse()
    page = browser.open("/lineage/mart/report?direction=upstream")

    address = re.search(r'href="(\?[^"]*expand=[^"]*)"', page)
    assert address
    expanded, _, place = address.group(1).replace("&amp;", "&").partition("#")
    more = browser.open(f"/lineage/mart/report{expanded}")
    assert f'id="{place}"' in more

    assert {"Process mart/delays", "Dataset raw/flights"} <= set(_drawn(more))
    assert "0 of 1 upstream" not in more
    browser.open("/lineage/mart/report?expand=sideways", 422)
    browser.open(f"/lineage/mart/report?expand=upstream:DATASET:{'-' * 36}", 422)


def test_many_readers_are_folded_with_their_number(browse: Browse, catalog: Engine) -> None:
    names = [f"many/d{number:02}" for number in range(40)]
    processes = [
        ProcessRecord(name, Technology.SPARK, inputs=("raw/flights",), outputs=(name,)) for name in names
    ]
    register(
        catalog, [*DATASETS, *(DatasetRecord(name, "parquet") for name in names)], [*PROCESSES, *processes]
    )

    page = browse().open("/lineage/raw/flights?direction=downstream")

    assert f"{MAX_NEIGHBOURS} of 41 downstream of raw/flights shown" in page
    assert len(_drawn(page)) == 1 + 2 * MAX_NEIGHBOURS
    readers = browse().open("/lineage/raw/flights?show=impact")
    assert "42 datasets and 42 processes; 25 of 84 shown" in readers
    following = readers.split('class="more" href="')[1].split('"')[0].replace("&amp;", "&")
    assert "many/d39" not in readers
    assert "many/d39" in browse().open(following)


def test_a_process_of_the_same_key_is_asked_for_by_its_kind(browse: Browse) -> None:
    browser = browse()

    page = browser.open("/lineage/mart/delays?kind=PROCESS")
    assert sorted(_drawn(page)) == ["Dataset mart/delays", "Dataset raw/flights", "Process mart/delays"]
    browser.open("/lineage/raw/flights?kind=PROCESS", 404)


def test_datasets_made_by_no_known_process_are_drawn(browse: Browse, catalog: Engine) -> None:
    register(catalog, [*DATASETS, DatasetRecord("mart/copy", "csv")], PROCESSES)
    source = put(catalog, "mart/report", "r1").version
    put(catalog, "mart/copy", "c1", inputs=(source.version_id,))

    page = browse().open("/lineage/mart/report?direction=downstream")

    assert _drawn(page) == ["Dataset mart/report", "Dataset mart/copy"]


def test_readers_are_listed_with_their_owners(browse: Browse) -> None:
    browser = browse()
    assert "show=impact" in browser.open("/lineage/raw/flights")

    page = browser.open("/lineage/raw/flights?show=impact")
    assert "<h1>raw/flights</h1>" in page
    assert "2 datasets and 2 processes" in page
    assert "team:board" in page


def test_readers_as_csv_hold_no_formula(browse: Browse, catalog: Engine) -> None:
    register(
        catalog,
        [*DATASETS, DatasetRecord("mart/odd", "csv", description='=HYPERLINK("x"),', owners=("@cmd",))],
        [
            *PROCESSES,
            ProcessRecord("mart/odd", Technology.SPARK, inputs=("raw/flights",), outputs=("mart/odd",)),
        ],
    )

    answer = browse().client.get("/lineage/raw/flights?format=csv")

    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="raw-flights-impact.csv"'
    rows = list(csv.reader(answer.text.splitlines()))
    assert rows[0] == ["steps", "kind", "key", "owners", "description"]
    assert ["1", "DATASET", "mart/odd", "'@cmd", '\'=HYPERLINK("x"),'] in rows
    assert ["2", "DATASET", "mart/report", "team:board", ""] in rows


def test_the_drawing_is_exported_as_svg(browse: Browse) -> None:
    answer = browse().client.get("/lineage/mart/delays?format=svg")

    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert answer.headers["content-disposition"] == 'attachment; filename="mart-delays.svg"'
    root = ElementTree.fromstring(answer.text)  # noqa: S314 - ours
    links = [each.attrib["href"] for each in root.iter("{http://www.w3.org/2000/svg}a")]
    assert "http://127.0.0.1:3200/datasets/mart/delays" in links
    assert all(each.startswith("http") for each in links)


def test_the_lineage_as_of_a_time(browse: Browse) -> None:
    before = datetime.now(UTC) - timedelta(days=1)
    browser = browse()

    page = browser.open(f"/lineage/mart/delays?as_of={before:%Y-%m-%dT%H:%M}")

    assert "At that time nothing is known" in page
    assert _drawn(browser.open("/lineage/mart/delays?as_of=&column="))
    browser.open("/lineage/mart/delays?as_of=yesterday", 422)
    browser.open("/lineage/mart/delays?as_of=9999-12-31T23:59-14:00", 422)
    assert 'value="2025-12-31T22:30"' in browser.open("/lineage/mart/delays?as_of=2026-01-01T00:30%2B02:00")


def test_sla_statuses_are_marked_with_a_word(browse: Browse, catalog: Engine) -> None:
    with transaction(catalog) as cursor:
        cursor.execute(
            "INSERT INTO catalog.sla_objective (organisation_id, sla_id, kind, ordinal, dataset_id, definition, "
            "state, since, next_at, evaluated_at, reason) "
            "SELECT sla.organisation_id, sla_id, 'AGE', 7, sla.dataset_id, '{}', 'LATE', now(), now(), now(), 'x' "
            "FROM catalog.sla JOIN catalog.dataset USING (dataset_id) WHERE full_name = 'mart/delays'"
        )

    assert "■ Late</text>" in browse().open("/lineage/mart/delays")


def test_the_sources_of_a_column(browse: Browse, catalog: Engine) -> None:
    source = put(catalog, "raw/flights", "r1").version
    lineage = LineageOfOutput(
        (
            ColumnLineage(
                "delay",
                (
                    ColumnSource(
                        "raw/flights", "delay", How.DIRECT, Subtype.AGGREGATION, expression="max(delay)"
                    ),
                    ColumnSource("raw/flights", "id", How.INDIRECT, Subtype.CONDITIONAL),
                ),
            ),
        ),
        whole=(ColumnSource("raw/flights", "id", How.INDIRECT, Subtype.GROUP_BY),),
    )
    put(catalog, "mart/delays", "d1", lineage=lineage, inputs=(source.version_id,))

    page = browse().open("/lineage/mart/delays?column=delay")
    assert "Sources of delay" in page
    trace = re.search(r'href="([^"]*)" aria-label="Sources of delay of raw/flights"', page)
    assert "Sources of delay<" in browse().open(trace.group(1).replace("&amp;", "&"))
    assert "<td>Aggregation" in page
    assert "max(delay)" not in page
    assert "Groupings on which it depends, 1" in page
    assert "Conditions on which it depends, 1" in page
    owner = browse(Role.DATA_OWNER, user="olga")
    assert "max(delay)" in owner.open("/lineage/mart/delays?column=delay")
    assert "has no column" in owner.open("/lineage/mart/delays?column=nothing", 404)


def test_hostile_names_are_shown_as_text(browse: Browse, catalog: Engine) -> None:
    key = f"mart/{HOSTILE}"
    register(
        catalog,
        [*DATASETS, DatasetRecord(key, "csv", description=HOSTILE)],
        [
            *PROCESSES,
            ProcessRecord(key, Technology.SPARK, inputs=("raw/flights",), outputs=(key,)),
        ],
    )
    browser = browse()

    assert "<script>alert" not in browser.open("/lineage/raw/flights")
    assert "<script>alert" not in browser.client.get("/lineage/raw/flights?format=svg").text


def test_datasets_of_other_domains_are_not_drawn(browse: Browse, run_id: UUID) -> None:
    browser = browse(domain="raw")

    page = browser.open("/lineage/raw/flights")
    assert "Dataset mart/delays" not in page
    assert "mart/report" not in page
    assert "mart" not in browser.client.get("/lineage/raw/flights?format=csv").text.replace("mart/delays", "")
    browser.open("/lineage/mart/report", 404)
    browser.open("/lineage/no/such", 404)


def test_every_role_may_look(browse: Browse) -> None:
    for role in Role:
        assert _drawn(browse(role, user=role.lower()).open("/lineage/mart/delays"))


def test_a_path_is_drawn_in_the_direction_of_the_data_or_against_it(browse: Browse) -> None:
    browser = browse()

    down = browser.open("/lineage/raw/flights?to=mart/report")
    assert "mart/report is 4 steps downstream; each edge is a step. All shortest paths are shown." in down
    assert _drawn(down) == [
        "Dataset raw/flights",
        "Process mart/delays",
        "Dataset mart/delays",
        "Process mart/report",
        "Dataset mart/report",
    ]
    assert "is 4 steps upstream" in browser.open("/lineage/mart/report?to=raw/flights")
    assert "is where the path begins" in browser.open("/lineage/mart/report?to=mart/report")


def test_no_path_and_an_unknown_name_are_explained(browse: Browse, catalog: Engine) -> None:
    register(catalog, [*DATASETS, DatasetRecord("mart/alone", "csv")], PROCESSES)
    browser = browse()

    assert "are not connected in either direction" in browser.open("/lineage/mart/report?to=mart/alone")
    unknown = browser.open("/lineage/mart/report?to=delay")
    assert "No dataset or process is named delay." in unknown
    assert 'Similar: <a class="key" href="?to=mart%2Fdelays">' in unknown
    assert "is named &lt;b&gt;" in browser.open("/lineage/mart/report?to=<b>")


def test_no_path_leads_through_a_dataset_of_another_domain(browse: Browse, catalog: Engine) -> None:
    register(
        catalog,
        [*DATASETS, DatasetRecord("raw/copy", "csv")],
        [
            *PROCESSES,
            ProcessRecord("raw/copy", Technology.SPARK, inputs=("mart/report",), outputs=("raw/copy",)),
        ],
    )

    assert "is 6 steps downstream" in browse().open("/lineage/raw/flights?to=raw/copy")
    narrow = browse(domain="raw", user="rob").open("/lineage/raw/flights?to=raw/copy")
    assert "are not connected in either direction, as far as you may see" in narrow
    assert "mart/report" not in narrow
    assert "is named mart/report" in browse(domain="raw", user="rob").open(
        "/lineage/raw/flights?to=mart/report"
    )


def test_the_path_as_of_a_time_and_as_a_file(browse: Browse) -> None:
    browser = browse()

    assert "are not connected" in browser.open("/lineage/raw/flights?to=mart/report&as_of=2020-01-01T00:00")
    drawing = browser.client.get("/lineage/raw/flights?to=mart/report&format=svg").text
    assert drawing.count('class="edge"') == 4


def test_datasets_in_another_migration_state_are_folded(browse: Browse, catalog: Engine) -> None:
    tags = {"migration": "shadow"}
    reports = [DatasetRecord("mart/report", "csv", owners=("team:board",), tags=tags)]
    register(catalog, reports, [])

    page = browse().open("/lineage/mart/delays?migration=shadow")

    assert '<option value="shadow" selected>' in page
    assert _drawn(page) == ["Dataset mart/delays", "Dataset mart/report"]


def test_a_lineage_of_the_past_has_no_statuses_of_today(browse: Browse, catalog: Engine) -> None:
    evaluate(catalog)
    now = datetime.now(UTC) + timedelta(minutes=1)

    assert "SLA status\n<select" in browse().open("/lineage/mart/delays")
    assert "SLA status\n<select" not in browse().open(f"/lineage/mart/delays?as_of={now:%Y-%m-%dT%H:%M}")


def test_datasets_of_other_owners_and_statuses_are_folded(browse: Browse) -> None:
    browser = browse()

    page = browser.open("/lineage/mart/delays?owner=team:board")
    assert "2 of 5 datasets and processes shown; the others are folded." in page
    assert _drawn(page) == ["Dataset mart/delays", "Dataset mart/report"]
    assert page.count('class="folded"') == 2
    assert "1 of 5 datasets and processes shown" in browser.open("/lineage/mart/delays?status=LATE")
    assert "<option selected>&lt;b&gt;</option>" in browser.open("/lineage/mart/delays?owner=<b>")


def test_groups_are_drawn_as_lanes(browse: Browse) -> None:
    browser = browse()

    page = browser.open("/lineage/mart/delays?group=domain&owner=&status=")
    titles = re.findall(r'font-weight="600" fill="#59636e">(\w+)</text>', page)
    assert list(dict.fromkeys(titles)) == ["raw", "mart"]
    by_technology = browser.client.get("/lineage/mart/delays?group=technology&format=svg").text
    assert ">Spark</text>" in by_technology
    assert ">no technology</text>" in by_technology
    browser.open("/lineage/mart/delays?group=colour", 422)


def test_what_is_downstream_of_a_process_is_listed_with_its_owners(browse: Browse) -> None:
    browser = browse()
    assert "kind=PROCESS&amp;show=impact" in browser.open("/processes/mart/delays")

    page = browser.open("/lineage/mart/delays?kind=PROCESS&show=impact")
    assert "2 datasets and 1 process<" in page.replace(" </span>", "</span>")
    assert "team:board" in page
    answer = browser.client.get("/lineage/mart/delays?kind=PROCESS&format=csv")
    assert [row[:4] for row in csv.reader(answer.text.splitlines())] == [
        ["steps", "kind", "key", "owners"],
        ["1", "DATASET", "mart/delays", "team:data"],
        ["2", "PROCESS", "mart/report", ""],
        ["3", "DATASET", "mart/report", "team:board"],
    ]
    assert "Nothing downstream of it is known" not in page
    narrow = browse(domain="raw", user="rob")
    narrow.open("/lineage/mart/report?kind=PROCESS&show=impact", 404)
    assert "mart/report" not in narrow.open("/lineage/mart/delays?kind=PROCESS&show=impact")
