"""alerts.yaml: the resulting rules, and the errors of an invalid one."""

from __future__ import annotations

import re
from datetime import time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml

from headrace.alerts.rules import AlertRules, Destination, Hours, Limit, Links, Quiet, Route, Step
from headrace.declarations.alerting.declaration import AlertsDeclaration
from headrace.declarations.alerting.rules import WrongRules, alert_rules
from headrace.execution.problems import relative_to
from headrace.severity import Severity
from tests.paths import REPOSITORY

HOUR = timedelta(hours=1)


def read(root: Path, text: str) -> AlertRules:
    (root / "alerts.yaml").write_text(text)
    return alert_rules(root)


def problems(root: Path, text: str) -> str:
    with pytest.raises(WrongRules) as raised, relative_to(root):
        read(root, text)
    with relative_to(root):
        return "\n".join(str(problem) for problem in raised.value.problems)


def test_a_file_comes_to_rules(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
timezone: Europe/London
destinations:
  mail: mailto://smtp.example.com?from=h@example.com&to={owner}
  channel: {url: "slack://${TOKEN}/#data", limit: {at_most: 5, within: 10m}}
limit: {at_most: 20, within: 1h}
owners:
  team:data: channel
  "*": [mail]
routes:
  - name: late flights
    domains: [flights]
    owners: [team:data]
    severity: error
    hours: {from: "18:00", to: "08:00", days: [mon, fri], timezone: Asia/Tokyo}
    steps:
      - to: owners
      - {to: [channel, owners], after: 30m}
quiet_hours:
  - {from: "22:00", to: "07:00", except_from: WARNING}
links: {dagster: https://dagster.example.com/, catalog: https://catalog.example.com}
heartbeat: ${HEARTBEAT_URL}
""",
    )
    assert found == AlertRules(
        destinations={
            "mail": Destination(
                "mail", "mailto://smtp.example.com?from=h@example.com&to={owner}", Limit(20, HOUR)
            ),
            "channel": Destination("channel", "slack://${TOKEN}/#data", Limit(5, timedelta(minutes=10))),
        },
        owners={"team:data": ("channel",), "*": ("mail",)},
        routes=(
            Route(
                "late flights",
                (Step(("owners",)), Step(("channel", "owners"), timedelta(minutes=30))),
                frozenset({"flights"}),
                frozenset({"team:data"}),
                Severity.ERROR,
                Hours(time(18), time(8), ZoneInfo("Asia/Tokyo"), frozenset({0, 4})),
            ),
        ),
        quiet=(Quiet(Hours(time(22), time(7), ZoneInfo("Europe/London")), Severity.WARNING),),
        links=Links("https://dagster.example.com", "https://catalog.example.com"),
        heartbeat="${HEARTBEAT_URL}",
    )


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_without_rules_no_one_is_notified(tmp_path: Path, text: str) -> None:
    assert alert_rules(tmp_path).routes == ()
    assert read(tmp_path, text).routes == ()


STEPS = "routes:\n  - name: r\n    steps: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("destinations: [a]", r"alerts.yaml:1: destinations: .* is not valid"),
        ("destinations:\n  a: nonsense", r"alerts.yaml:2: destinations.a: not an apprise URL"),
        (
            "destinations:\n  a: json://x/{name}",
            r"alerts.yaml:2: destinations.a: unknown placeholder",
        ),
        (
            "owners:\n  team:x: a",
            r"alerts.yaml:2: owners.team:x: unknown destination 'a'\n  Add it to",
        ),
        (
            "quiet_hours:\n  - {from: 22:00, to: '07:00', except_from: ERROR}",
            r"alerts.yaml:2: .*1320 is not a time",
        ),
        (
            "quiet_hours:\n  - {from: '22:00', to: '07:00'}",
            r"alerts.yaml:2: .*except_from: this field is missing",
        ),
        (
            "quiet_hours:\n  - {from: '22:00', to: '22:00', except_from: ERROR}",
            r"alerts.yaml:2: quiet_hours.0: these hours never end: give `to` another time, or name the `days`",
        ),
        (
            "links: {dagster: dagster}",
            r"alerts.yaml:1: links.dagster: not a URL; for example https://dagster.example.com",
        ),
        (
            "heartbeat: ftp://hunter2",
            r"alerts.yaml:1: heartbeat: not a URL; for example https://",
        ),
        ("quiet_hour: []", r"alerts.yaml:1: quiet_hour: unknown field .*\n  Did you mean 'quiet_hours'"),
        ("timezone: Mars", r"alerts.yaml:1: timezone: 'Mars' is not a time zone"),
        (f"{STEPS}[{{to: a}}]", r"alerts.yaml:3: routes.0.steps.0.to: unknown destination 'a'"),
        (f"{STEPS}[{{to: owners}}]", r"alerts.yaml:3: .*no owner has a destination\n  Add `owners`"),
        (f"{STEPS}[]", r"alerts.yaml:3: routes.0.steps: "),
        (f"{STEPS}[{{to: a, after: 5m}}]", r"alerts.yaml:2: routes.0: the first step is immediate"),
        (
            f"{STEPS}[{{to: a}}, {{to: a}}]",
            r"alerts.yaml:2: routes.0: every step but the first needs `after`",
        ),
        (
            f"{STEPS}[{{to: a}}, {{to: a, after: 1h}}, {{to: a, after: 30m}}]",
            r"alerts.yaml:2: routes.0: a step comes `after` less time",
        ),
        (
            f"destinations: {{m: 'mailto://x?to={{owner}}'}}\n{STEPS}[{{to: m}}]",
            r"alerts.yaml:4: .*m needs an owner's address",
        ),
        (
            "destinations:\n  a: json://x\n  a: json://y",
            r"alerts.yaml:3: a.*second time, after line 2|alerts.yaml:3: ",
        ),
        ("a: [", r"alerts.yaml:\d: this is not YAML"),
        ("- a", r"alerts.yaml:1: this is not a mapping"),
        ("a: 1\n---\nb: 2", r"alerts.yaml:1: there is more than one document"),
    ],
)
def test_errors_have_a_line(tmp_path: Path, text: str, message: str) -> None:
    found = problems(tmp_path, text)
    assert re.search(message, found), found


def test_the_projects_own_file_and_the_one_in_its_comments_can_be_used(tmp_path: Path) -> None:
    text = (REPOSITORY / "alerts.yaml").read_text()
    assert alert_rules(REPOSITORY).routes == ()
    _, _, example = text.partition("#\n")
    rules = read(tmp_path, re.sub(r"^# ?", "", example, flags=re.MULTILINE))
    assert [route.name for route in rules.routes] == ["late datasets", "the rest"]


def test_secrets_are_not_in_what_is_printed(tmp_path: Path) -> None:
    assert "hunter2" not in problems(tmp_path, "heartbeat: ftp://hunter2")
    assert "hunter2" not in repr(
        read(tmp_path, "destinations: {a: 'json://me:hunter2@x'}\nheartbeat: https://x/hunter2")
    )


def test_the_example_of_the_page_can_be_used_and_names_every_field(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "alerts.md").read_text()
    example = page.split("```yaml\n")[1].split("```")[0]
    rules = read(tmp_path, example)
    assert [route.name for route in rules.routes] == ["late datasets", "the data team at night", "the rest"]
    written = yaml.safe_load(example)
    assert set(written) == set(AlertsDeclaration.model_fields)
