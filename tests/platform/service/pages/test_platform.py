"""The health of the platform."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from headrace.access.callers import Role
from headrace.context import current_context
from headrace.database.connection import transaction
from tests.platform.service.pages.conftest import Browse

HEARTBEAT = """
INSERT INTO catalog.heartbeat (organisation_id, sensor, ticked_at, failed_at, failure, silent_after)
VALUES (%s, %s, now() - %s * interval '1 second', CASE WHEN %s THEN now() END, 'no disk', 60)
"""


def beat(engine: Engine, sensor: str, seconds_ago: int, *, fails: bool = False) -> None:
    with transaction(engine) as cursor:
        cursor.execute(HEARTBEAT, [current_context().organisation_id, sensor, seconds_ago, fails])


def test_a_platform_whose_sensors_tick_works(browse: Browse, catalog: Engine) -> None:
    beat(catalog, "slas", 5)

    page = browse(Role.PLATFORM_ADMIN).open("/platform")

    assert "Everything works." in page
    assert "Ticking" in page


def test_a_silent_sensor_is_named(browse: Browse, catalog: Engine) -> None:
    beat(catalog, "slas", 5)
    beat(catalog, "alerts", 600)

    assert "No heartbeat from alerts" in browse(Role.PLATFORM_ADMIN).open("/platform")


def test_a_failing_sensor_shows_its_error(browse: Browse, catalog: Engine) -> None:
    beat(catalog, "slas", 5, fails=True)

    page = browse(Role.PLATFORM_ADMIN).open("/platform")

    assert "Every tick of slas fails." in page
    assert "no disk" in page


@pytest.mark.parametrize("role", [Role.DATA_STEWARD, Role.DATA_OWNER, Role.DATA_CONSUMER])
def test_it_is_for_operators(browse: Browse, role: Role) -> None:
    browse(role).open("/platform", 403)
