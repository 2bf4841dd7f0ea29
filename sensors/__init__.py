"""What reacts: files that land become versions of external datasets."""

from collections.abc import Sequence

import dagster as dg

from components.plan import Plan
from sensors.landing import landing_sensor


def sensors(plans: Sequence[Plan]) -> list[dg.SensorDefinition]:
    """The sensors over the datasets that `plans` declare."""
    return [landing_sensor(plans)]
