"""The platform's sensors: landed files, completions, process triggers, unreported versions, SLAs, alerts."""

from collections.abc import Sequence

import dagster as dg

from headrace.execution.plan import Plan
from headrace.orchestration.sensors.alerts import alerts_sensor
from headrace.orchestration.sensors.completions import completions_sensor
from headrace.orchestration.sensors.landing import landing_sensor
from headrace.orchestration.sensors.process_triggers import process_trigger_sensor
from headrace.orchestration.sensors.reports import reports_sensor
from headrace.orchestration.sensors.slas import slas_sensor


def sensors(plans: Sequence[Plan]) -> list[dg.SensorDefinition]:
    """Create the sensors for the datasets that `plans` declare."""
    return [
        landing_sensor(plans),
        completions_sensor(),
        process_trigger_sensor(plans),
        reports_sensor(plans),
        slas_sensor(plans),
        alerts_sensor(),
        dg.AutomationConditionSensorDefinition(
            "dataset_triggers",
            target=dg.AssetSelection.all(),
            default_status=dg.DefaultSensorStatus.RUNNING,
            description="Starts the datasets whose declared trigger holds.",
        ),
    ]
