"""Estates: coverage, scans, and what a scan changed and found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlalchemy import Engine

from headrace.access.callers import Role
from headrace.estates.estates import scan
from tests.platform.service.pages.conftest import Browse

JIL = """
insert_job: LOAD   job_type: CMD
machine: m1
owner: ops@unx
command: load.sh < /data/in/a.csv > /data/out/b.dat
"""
BROKEN = "insert_job: \n<b>what is this</b>\n"


@pytest.fixture
def scanned(catalog: Engine, tmp_path: Path) -> Path:
    file = tmp_path / "jobs.jil"
    file.write_text(JIL + JIL.replace("LOAD", "SEND"))
    scan(catalog, [file], by="dana")
    return file


def test_coverage_counts_what_is_known(browse: Browse, scanned: Path) -> None:
    page = browse(Role.DATA_STEWARD).open("/estate")

    assert 'href="/processes?technology=AUTOSYS">Autosys</a>' in page
    assert '<td class="number">2</td>' in page
    assert '2 <span class="quiet">100 %</span>' in page  # with owners
    assert "dana" in page


def test_a_scan_shows_what_it_changed_and_found(browse: Browse, catalog: Engine, scanned: Path) -> None:
    scanned.write_text(JIL.replace("m1", "m2") + BROKEN)
    scan(catalog, [scanned], by="dana", allow_mass_retirement=True)
    steward = browse(Role.DATA_STEWARD)
    newest = re.findall(r'href="(/estate/[0-9a-f-]+)"', steward.open("/estate"))[0]

    page = steward.open(newest)
    for title, name in (("Changed", "LOAD"), ("Kept", "SEND")):
        part = page.split(f"<h2>{title} ")[1].split("<h2>")[0]
        assert f">{name}</a>" in part
    assert "Added" not in page
    assert "jobs.jil:" in page
    assert "<b>what" not in page


def test_without_a_scan_it_says_what_to_do(browse: Browse) -> None:
    page = browse(Role.DATA_STEWARD).open("/estate")

    assert "headrace legacy scan jobs.jil" in page
    assert "No scan is stored." in page


def test_unknown_scans_and_other_roles_are_refused(browse: Browse, scanned: Path) -> None:
    assert "no scan" in browse(Role.DATA_STEWARD).open("/estate/00000000-0000-0000-0000-000000000000", 404)
    browse(user="bob").open("/estate", 403)
    assert "dana" not in browse(Role.DATA_STEWARD, user="cem", domain="mart").open("/estate")
