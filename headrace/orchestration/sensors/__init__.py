"""The platform's sensors: landed files, completions, polls, process triggers, unreported versions, SLAs, alerts."""

import logging

import dagster as dg

from headrace.declarations.loading.project import LoadedProject
from headrace.orchestration.sensors.alerts import alerts_sensor
from headrace.orchestration.sensors.completions import completions_sensor
from headrace.orchestration.sensors.landing import landing_sensor
from headrace.orchestration.sensors.polls import polls_sensor
from headrace.orchestration.sensors.process_triggers import process_trigger_sensor
from headrace.orchestration.sensors.reports import reports_sensor
from headrace.orchestration.sensors.slas import slas_sensor
from headrace.polling.polls import load_polls
from headrace.project import project_root

_LOG = logging.getLogger("headrace")


def sensors(loaded: LoadedProject) -> list[dg.SensorDefinition]:
    """Create the sensors for the declarations of a project."""
    plans = loaded.plans
    polls = load_polls(project_root())
    for problem in polls.problems:
        _LOG.warning("%s", problem)
    return [
        landing_sensor(plans),
        completions_sensor(),
        *([polls_sensor(polls.polls)] if polls.polls else ()),
        process_trigger_sensor(plans),
        reports_sensor(plans),
        slas_sensor(plans, complete=not loaded.problems),
        alerts_sensor(),
        dg.AutomationConditionSensorDefinition(
            "dataset_triggers",
            target=dg.AssetSelection.all(),
            default_status=dg.DefaultSensorStatus.RUNNING,
            description="Starts the datasets whose declared trigger holds.",
        ),
    ]
