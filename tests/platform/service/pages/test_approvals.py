"""Approvals: registrations, and candidates of scans."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlalchemy import Engine

from headrace import queries
from headrace.access.callers import Role
from headrace.database.connection import transaction
from headrace.estates.estates import scan
from headrace.registration.registrations import RegistrationRequest, registrations, request
from tests.platform.service.pages.conftest import Browse

JIL = (
    "insert_job: LOAD   job_type: CMD\nmachine: m1\nowner: ops@unx\n"
    "command: load.sh < /data/in/a.csv > /data/out/b.dat\n"
)


def ask(engine: Engine, *keys: str, by: str = "user:eve") -> list[str]:
    """Request these datasets; the ids of the registrations."""
    with transaction(engine) as cursor:
        return [
            str(request(cursor, RegistrationRequest(key, "csv", owners=("team:a",)), by=by).registration_id)
            for key in keys
        ]


def states(engine: Engine) -> dict[str, str]:
    return {each.dataset: str(each.status) for each in registrations(engine)}


def test_a_steward_approves_several_at_once(browse: Browse, catalog: Engine) -> None:
    ids = ask(catalog, "mart/a", "mart/b", "mart/c")
    steward = browse(Role.DATA_STEWARD)
    assert "mart/a" in steward.open("/approvals")

    done = steward.submit("/approvals", "/approvals", chosen=ids[:2], decision="approve")

    assert "2 approved" in done.text
    assert states(catalog) == {"mart/a": "APPROVED", "mart/b": "APPROVED", "mart/c": "PENDING"}
    assert queries.dataset(catalog, "mart/a").status == "ACTIVE"


def test_a_rejection_needs_a_comment(browse: Browse, catalog: Engine) -> None:
    [one] = ask(catalog, "mart/a")
    steward = browse(Role.DATA_STEWARD)

    refused = steward.submit("/approvals", "/approvals", chosen=[one], decision="reject")
    assert "comment" in refused.text
    assert states(catalog) == {"mart/a": "PENDING"}

    done = steward.submit("/approvals", "/approvals", chosen=[one], decision="reject", comment="no owner")
    assert "1 rejected" in done.text
    assert "no owner" in steward.open("/approvals?status=REJECTED")


def test_nobody_approves_their_own_and_the_others_go_on(browse: Browse, catalog: Engine) -> None:
    ids = [*ask(catalog, "mart/own", by="user:ann"), *ask(catalog, "mart/other")]
    steward = browse(Role.DATA_STEWARD)

    done = steward.submit("/approvals", "/approvals", chosen=ids, decision="approve")

    assert "1 approved" in done.text
    assert "mart/own: user:ann made this registration: another steward" in done.text
    assert states(catalog) == {"mart/own": "PENDING", "mart/other": "APPROVED"}


def test_the_second_of_two_people_reads_who_was_first(browse: Browse, catalog: Engine) -> None:
    one, _ = ask(catalog, "mart/a", "mart/b")
    first, second = browse(Role.DATA_STEWARD, "bob"), browse(Role.DATA_STEWARD, "cem")
    first.submit("/approvals", "/approvals", chosen=[one], decision="approve")

    late = second.submit("/approvals", "/approvals", chosen=[one], decision="approve")

    assert "already approved by user:bob" in late.text


@pytest.mark.parametrize("role", [Role.DATA_OWNER, Role.DATA_CONSUMER])
@pytest.mark.parametrize("path", ["/approvals", "/approvals/candidates"])
def test_only_reviewers_open_the_approvals(browse: Browse, role: Role, path: str) -> None:
    browser = browse(role)

    browser.open(path, 403)
    assert browser.client.post(path, data={"decision": "reject"}).status_code == 403
    assert 'href="/approvals"' not in browser.open("/")


def candidates_form(page: str, **given: str) -> dict[str, list[str]]:
    """The fields of the form of candidates, with the datasets that a steward writes beside the patterns."""
    patterns = re.findall(r'name="pattern" value="([^"]+)"', page)
    return {
        "pattern": patterns,
        "instance": [""] * len(patterns),
        "dataset": [given.get(each.rpartition("/")[2].partition(".")[0], "") for each in patterns],
        "owner": ["team:fin"] * len(patterns),
        "chosen": [str(place) for place in range(len(patterns))],
    }


@pytest.fixture
def scanned(catalog: Engine, tmp_path: Path) -> Engine:
    """A catalog with two candidates, /data/in/a.csv and /data/out/b.dat."""
    (tmp_path / "jobs.jil").write_text(JIL)
    scan(catalog, [tmp_path / "jobs.jil"])
    return catalog


def test_a_steward_confirms_candidates_and_a_wrong_key_does_not_stop_the_others(
    browse: Browse, scanned: Engine
) -> None:
    steward = browse(Role.DATA_STEWARD)
    page = steward.open("/approvals/candidates")
    assert "LOAD reads it" in page

    done = steward.submit(
        "/approvals/candidates",
        "/approvals/candidates",
        decision="confirm",
        **candidates_form(page, a="fin/a", b="not a key"),
    )

    assert "1 confirmed" in done.text
    assert "/data/out/b.dat: dataset:" in done.text
    assert queries.dataset(scanned, "fin/a").owners == ("team:fin",)
    assert "fin/a" in steward.open("/approvals/candidates?status=CONFIRMED")
    assert "found by a scan" in steward.open("/approvals?status=APPROVED")


def test_a_domain_and_owners_are_given_to_all_that_have_none(browse: Browse, scanned: Engine) -> None:
    steward = browse(Role.DATA_STEWARD)
    form = candidates_form(steward.open("/approvals/candidates"), b="own/b") | {"owner": ["", "team:own"]}
    address = "/approvals/candidates"

    done = steward.submit(address, address, decision="confirm", domain="fin", owners="team:fin", **form)

    assert "2 confirmed" in done.text
    keys = [key or "fin/a" for key in form["dataset"]]
    assert {key: queries.dataset(scanned, key).owners for key in keys} == dict(
        zip(keys, [("team:fin",), ("team:own",)], strict=True)
    )


def test_two_candidates_do_not_become_one_dataset_by_themselves(
    browse: Browse, catalog: Engine, tmp_path: Path
) -> None:
    (tmp_path / "jobs.jil").write_text(JIL.replace("b.dat", "a_$$DAY.dat"))
    scan(catalog, [tmp_path / "jobs.jil"])
    steward = browse(Role.DATA_STEWARD)
    form = candidates_form(steward.open("/approvals/candidates"))
    address = "/approvals/candidates"

    done = steward.submit(address, address, decision="confirm", domain="fin", **form)

    assert done.text.count("several of the chosen would be fin/a") == 2


def test_rejected_candidates_do_not_come_back(browse: Browse, scanned: Engine) -> None:
    steward = browse(Role.DATA_STEWARD)
    form = candidates_form(steward.open("/approvals/candidates"))

    done = steward.submit("/approvals/candidates", "/approvals/candidates", decision="reject", **form)

    assert "2 rejected" in done.text
    assert "No candidate waits for a decision." in done.text


@pytest.mark.parametrize(
    ("chosen", "words"), [(["7"], "the form is incomplete"), (["0", "-5"], "chosen"), (["-1"], "chosen")]
)
def test_a_wrong_form_changes_nothing(browse: Browse, scanned: Engine, chosen: list[str], words: str) -> None:
    steward = browse(Role.DATA_STEWARD)
    form = candidates_form(steward.open("/approvals/candidates")) | {"chosen": chosen}

    refused = steward.submit("/approvals/candidates", "/approvals/candidates", decision="reject", **form)

    assert refused.status_code == 422
    assert words in refused.text
    assert "/data/in/a.csv" in steward.open("/approvals/candidates")


def test_a_candidate_that_is_chosen_twice_counts_once(browse: Browse, scanned: Engine) -> None:
    steward = browse(Role.DATA_STEWARD)
    form = candidates_form(steward.open("/approvals/candidates")) | {"chosen": ["0", "0"]}

    done = steward.submit("/approvals/candidates", "/approvals/candidates", decision="reject", **form)

    assert "1 rejected" in done.text
