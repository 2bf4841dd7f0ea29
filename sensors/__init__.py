"""What reacts: files that land become versions of external datasets, and new versions start what declares a trigger."""

from collections.abc import Sequence

import dagster as dg

from components.plan import Plan
from sensors.landing import landing_sensor


def sensors(plans: Sequence[Plan]) -> list[dg.SensorDefinition]:
    """The sensors over the datasets that `plans` declare."""
    return [
        landing_sensor(plans),
        dg.AutomationConditionSensorDefinition(
            "dataset_triggers",
            target=dg.AssetSelection.all(),
            default_status=dg.DefaultSensorStatus.RUNNING,
            description="Starts the datasets whose declared trigger holds.",
        ),
    ]
