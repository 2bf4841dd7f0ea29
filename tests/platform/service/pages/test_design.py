"""The page that shows all components."""

from __future__ import annotations

import re
from pathlib import Path

from headrace import pages
from headrace.pages.rendering import STATES
from tests.platform.service.pages.conftest import Browse

COMPONENTS = Path(str(pages.__file__)).parent / "templates/components.html"


def test_every_component_is_on_the_page() -> None:
    macros = set(re.findall(r"{% macro (\w+)\(", COMPONENTS.read_text()))
    used = (COMPONENTS.parent / "design.html").read_text()

    assert {name for name in macros - {"subject"} if f"{name}(" not in used} == {"form_token", "more"}


def test_every_status_is_on_the_page(browse: Browse) -> None:
    page = browse().open("/design")

    for tone, values in STATES.items():
        assert page.count(f'class="status {tone}"') >= len(values)
