"""alerts.yaml: the resulting rules, and the errors of an invalid one."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml

from headrace.alerts.rules import AlertRules, Destination, Hours, Limit, Links, Quiet, Route, Step
from headrace.declarations.alerting.declaration import AlertsDeclaration
from headrace.declarations.alerting.rules import LoadedRules, WrongRules, load_rules
from headrace.execution.problems import relative_to
from headrace.queries.projects import Subjects
from headrace.severity import Severity
from tests.paths import REPOSITORY

HOUR = timedelta(hours=1)


def load(root: Path, text: str) -> LoadedRules:
    (root / "alerts.yaml").write_text(text)
    return load_rules(root)


def read(root: Path, text: str) -> AlertRules:
    """Return the rules of a file without errors."""
    loaded = load(root, text)
    assert loaded.problems == ()
    return loaded.rules


def problems(root: Path, text: str) -> str:
    with relative_to(root):
        try:
            found = load(root, text).problems
        except WrongRules as error:
            found = tuple(error.problems)
        return "\n".join(str(problem) for problem in found)


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
  - name: the rest
    repeat_every: never
    steps:
      - to: owners
repeat_every: 2h
acknowledge_for: 4h
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
                timedelta(hours=2),
            ),
            Route("the rest", (Step(("owners",)),), repeat_every=None),
        ),
        quiet=(Quiet(Hours(time(22), time(7), ZoneInfo("Europe/London")), Severity.WARNING),),
        links=Links("https://dagster.example.com", "https://catalog.example.com"),
        heartbeat="${HEARTBEAT_URL}",
        acknowledge_for=timedelta(hours=4),
    )


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_without_rules_no_one_is_notified(tmp_path: Path, text: str) -> None:
    assert load_rules(tmp_path).rules.routes == ()
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
            r"alerts.yaml:2: .*1320 is not a valid time",
        ),
        (
            "quiet_hours:\n  - {from: '22:00', to: '07:00'}",
            r"alerts.yaml:2: .*except_from: required field is missing",
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
        (
            "destinations:\n  a: json://x\n  b: foo://x",
            r"alerts.yaml:3: destinations.b: there is no alert channel foo://\n",
        ),
        (
            "destinations:\n  a: json://x\n  b: slack://tok",
            r"alerts.yaml:3: destinations.b: the URL is incomplete: nothing can be sent to it\n",
        ),
        (
            "destinations:\n  a: https://example.com/hook",
            r"alerts.yaml:2: destinations.a: there is no alert channel https://",
        ),
        (
            "destinations:\n  a: slak://x/#data",
            r"alerts.yaml:2: destinations.a: there is no alert channel slak://\n  Did you mean slack://",
        ),
        ("repeat_every: often", r"alerts.yaml:1: repeat_every: 'often' is not a valid duration"),
        (
            "quiet_hours:\n  - {from: '22:00', to: '08:00', except_from: CRITICAL}\n"
            "  - {from: '08:00', to: '22:00', except_from: ERROR}",
            r"alerts.yaml:3: quiet_hours.1: these quiet hours together cover the whole week: no alert up to WARNING ",
        ),
        (
            "destinations: {a: 'json://x'}\nroutes:\n  - {name: all, steps: [{to: a}]}\n"
            "  - {name: mart, domains: [mart], severity: error, steps: [{to: a}]}",
            r"alerts.yaml:4: routes.1: the route 'mart' never applies: 'all' matches everything that it does",
        ),
        ("quiet_hour: []", r"alerts.yaml:1: quiet_hour: unknown field .*\n  Did you mean 'quiet_hours'"),
        ("timezone: Mars", r"alerts.yaml:1: timezone: 'Mars' is not a known time zone"),
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
        ("a: [", r"alerts.yaml:\d: invalid YAML"),
        ("- a", r"alerts.yaml:1: not a mapping"),
        ("a: 1\n---\nb: 2", r"alerts.yaml:1: more than one document"),
    ],
)
def test_errors_have_a_line(tmp_path: Path, text: str, message: str) -> None:
    found = problems(tmp_path, text)
    assert re.search(message, found), found


def test_an_invalid_entry_does_not_affect_the_others(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """
destinations:
  good: json://x
  bad: foo://x
  worse: nonsense
owners: {team:data: [bad, good], team:bi: worse}
routes:
  - {name: invalid, steps: []}
  - {name: partly, severity: ERROR, steps: [{to: [bad, good]}, {to: worse, after: 30m}]}
  - {name: rest, steps: [{to: owners}]}
  - {name: shadowed, steps: [{to: good}]}
quiet_hours:
  - {from: 22:00, to: "07:00", except_from: ERROR}
  - {from: "01:00", to: "02:00", except_from: ERROR}
timezone: Mars
heartbeat: https://watch.example.com/x
""",
    )
    rules = loaded.rules
    assert list(rules.destinations) == ["good"]
    assert rules.owners == {"team:data": ("good",)}
    assert [(route.name, route.steps) for route in rules.routes] == [
        ("partly", (Step(("good",)),)),
        ("rest", (Step(("owners",)),)),
        ("shadowed", (Step(("good",)),)),
    ]
    assert [quiet.hours.start for quiet in rules.quiet] == [time(1)]
    assert rules.heartbeat == "https://watch.example.com/x"
    assert [(problem.line, problem.field) for problem in loaded.problems] == [
        (4, "destinations.bad"),
        (5, "destinations.worse"),
        (8, "routes.0.steps"),
        (11, "routes.3"),
        (13, "quiet_hours.0.from"),
        (15, "timezone"),
    ]


@pytest.mark.parametrize(
    ("earlier", "later", "shadows"),
    [
        ("", "domains: [a]", True),
        ("domains: [a]", "", False),
        ("domains: [a, b]", "domains: [a]", True),
        ("domains: [a]", "domains: [a, b]", False),
        ("owners: [x]", "owners: [x]", True),
        ("owners: [x]", "domains: [a]", False),
        ("severity: ERROR", "severity: WARNING", False),
        ("severity: WARNING", "severity: ERROR", True),
        ("hours: {from: '08:00', to: '18:00'}", "", False),
        ("", "hours: {from: '08:00', to: '18:00'}", True),
        ("hours: {from: '08:00', to: '08:00'}", "hours: {from: '08:00', to: '18:00'}", True),
    ],
)
def test_a_route_that_an_earlier_one_shadows_is_an_error(
    tmp_path: Path, earlier: str, later: str, *, shadows: bool
) -> None:
    steps = "steps: [{to: a}]"
    text = f"destinations: {{a: 'json://x'}}\nroutes:\n  - {{name: one, {steps}, {earlier}}}\n"
    text += f"  - {{name: two, {steps}, {later}}}"
    assert ("never applies" in problems(tmp_path, text)) is shadows


def test_quiet_hours_that_together_never_end_hold_nothing_back(tmp_path: Path) -> None:
    week = """
quiet_hours:
  - {from: "22:00", to: "08:00", except_from: CRITICAL}
  - {from: "08:00", to: "22:00", except_from: ERROR}
"""
    rules = load(tmp_path, week).rules
    noon = datetime(2026, 11, 2, 12, tzinfo=UTC)
    assert rules.not_before(Severity.WARNING, noon) == noon
    office = week.replace('"22:00", except_from: ERROR', '"22:00", days: [sat, sun], except_from: ERROR')
    assert read(tmp_path, office).not_before(Severity.WARNING, noon) == noon
    saturday = datetime(2026, 11, 7, 12, tzinfo=UTC)
    assert read(tmp_path, office).not_before(Severity.WARNING, saturday) == datetime(
        2026, 11, 9, 8, tzinfo=UTC
    )


def test_owners_and_domains_that_nothing_has_are_errors(tmp_path: Path) -> None:
    (tmp_path / "alerts.yaml").write_text(
        "destinations: {a: 'json://x'}\nowners:\n  team:dta: a\n  team:far: a\n  '*': a\nroutes:\n"
        "  - {name: one, domains: [mrt], owners: [team:data], steps: [{to: a}]}\n"
    )
    here = Subjects(frozenset({"team:data"}), frozenset({"mart"}))
    with relative_to(tmp_path):
        found = [str(problem) for problem in load_rules(tmp_path, here).problems]
        everything = [str(each) for each in load_rules(tmp_path, replace(here, are_all=True)).problems]
    nothing = "no dataset or process has the"
    owner = f"alerts.yaml:3: owners.team:dta: {nothing} owner 'team:dta'\n  Did you mean 'team:data'?"
    far = f"alerts.yaml:4: owners.team:far: {nothing} owner 'team:far'\n  Declare one, or remove this entry."
    domain = f"alerts.yaml:7: routes.0.domains.0: {nothing} domain 'mrt'\n  Did you mean 'mart'?"
    assert found == [owner, domain], "others may have it"
    assert everything == [owner, far, domain]


def test_the_projects_own_file_and_the_one_in_its_comments_can_be_used(tmp_path: Path) -> None:
    text = (REPOSITORY / "alerts.yaml").read_text()
    assert load_rules(REPOSITORY).rules.routes == ()
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
