"""Policies of a project: what `headrace check` refuses, what is allowed for a while, and what is wrong with rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from headrace.cli import app
from headrace.policies import evaluation
from headrace.policies.evaluation import decide
from headrace.policies.rules import Outcome, Policies, PolicyException, Rule, load_policies
from headrace.policies.subjects import Subject, completed
from tests.platform.projects import forget_definitions, in_a_project

ASSETS = """
type: headrace.ExternalDataset
attributes: {key: shop/raw_orders, classification: restricted, owners: ["team:shop"]}
---
type: headrace.Dataset
attributes:
  key: shop/orders
  sql: SELECT 1 AS id FROM raw_orders
"""
OWNER = {
    "name": "owner_is_named",
    "require": "size(dataset.owners) > 0",
    "message": "it has no owner",
    "comply": "Declare `owners`.",
}
CLASSIFIED = {
    "name": "classification_is_kept",
    "require": "inputs.all(i, i.classification_level <= dataset.classification_level)",
    "outcome": "hold",
    "message": "it is classified too low",
    "comply": "Classify it higher.",
}
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a dataset that has no owner and reads a restricted one."""
    (tmp_path / "assets" / "shop").mkdir(parents=True)
    (tmp_path / "assets" / "shop" / "defs.yaml").write_text(ASSETS)
    with in_a_project(tmp_path, monkeypatch):
        yield tmp_path


def write(root: Path, name: str, *entries: object) -> None:
    forget_definitions()
    (root / "policies").mkdir(exist_ok=True)
    (root / "policies" / name).write_text(yaml.safe_dump(list(entries), sort_keys=False))


def run(*words: str) -> Result:
    return CliRunner().invoke(app, words, env={"COLUMNS": "200"})


def subject(key: str = "shop/orders", **facts: Any) -> Subject:
    return Subject(key, completed({"key": key, **facts}), [], (Path("defs.yaml"), 1))


def rule(require: str, **fields: Any) -> Rule:
    return Rule.model_validate({**OWNER, "require": require, **fields})


def test_a_dataset_that_a_rule_denies_is_a_problem_at_its_declaration(project: Path) -> None:
    write(project, "rules.yaml", OWNER, CLASSIFIED)
    refused = run("check")
    assert refused.exit_code == 1
    assert (
        "assets/shop/defs.yaml:5: shop/orders: it has no owner (policy owner_is_named)\n  Declare `owners`."
        in refused.stderr
    )
    assert "an approver adds an exception to policies/exceptions.yaml" in refused.stderr
    assert "raw_orders" not in refused.stderr
    found = json.loads(run("check", "--json").stdout)["problems"]
    assert [(each["file"], each["line"]) for each in found] == [("assets/shop/defs.yaml", 5)] * 2


def test_a_warning_does_not_fail_the_check(project: Path) -> None:
    write(project, "rules.yaml", OWNER | {"outcome": "warn"})
    warned = run("check")
    assert warned.exit_code == 0
    assert "warning: assets/shop/defs.yaml:5: shop/orders: it has no owner" in warned.stderr
    assert "All declarations of project shop are valid." in warned.stdout
    assert len(json.loads(run("check", "--json").stdout)["warnings"]) == 1


def test_an_exception_allows_a_dataset_until_it_expires(project: Path) -> None:
    write(project, "rules.yaml", CLASSIFIED)
    approved = {
        "rule": "classification_is_kept",
        "datasets": ["shop/o*"],
        "approved_by": "team:risk",
        "reason": "r",
    }
    write(project, "exceptions.yaml", approved | {"until": "9999-12-31"})
    assert run("check").exit_code == 0
    [decision] = json.loads(run("policy", "explain", "--json").stdout)["decisions"]
    assert (decision["dataset"], decision["outcome"]) == ("shop/orders", "allow")
    assert decision["exception"]["approved_by"] == "team:risk"
    assert "allowed until 9999-12-31 by team:risk" in run("policy", "explain", "shop/orders").stdout
    write(project, "exceptions.yaml", approved | {"until": "2020-01-01"})
    expired = run("check")
    assert expired.exit_code == 1
    assert "The exception that team:risk approved has expired on 2020-01-01." in expired.stderr


def test_an_exception_counts_on_its_last_day() -> None:
    never = rule("false")
    for until, outcome in (("2026-11-30", Outcome.ALLOW), ("2026-11-29", Outcome.DENY)):
        exception = PolicyException.model_validate(
            {"rule": never.name, "datasets": ["shop/*"], "until": until, "approved_by": "a", "reason": "r"}
        )
        [decision], failed = decide(Policies((never,), (exception,)), [subject()], NOON)
        assert (decision.outcome, decision.exception, failed) == (outcome, exception, [])


def test_a_bad_entry_is_named_and_the_others_count(project: Path) -> None:
    write(
        project,
        "rules.yaml",
        OWNER | {"name": "broken", "require": "size(dataset.owners >"},
        OWNER | {"name": "Wrong Name"},
        OWNER | {"name": "unfinished", "colour": "red"},
        OWNER,
        OWNER,
    )
    write(project, "exceptions.yaml", {"rule": "nothing", "datasets": ["*"], "until": "soon"})
    write(project, "tests.yaml", {"rule": "nowhere", "name": "x", "outcome": "allow"})
    text = "\n".join(map(str, load_policies(project).problems))
    assert "rules.yaml:2: 0.require: the expression is not valid CEL: line 1, column" in text
    assert "Wrong Name" in text
    assert "colour" in text
    assert "two rules are named 'owner_is_named'" in text
    assert "there is no rule 'nowhere'" in text
    assert "exceptions.yaml:4" in text
    refused = run("check")
    assert refused.exit_code == 1
    assert "shop/orders: it has no owner" in refused.stderr


@pytest.mark.parametrize(
    ("require", "reason"),
    [
        ("dataset.tags.tier == '1'", "there is no field 'tier'"),
        ("dataset.key", "the expression is 'shop/orders', neither true nor false"),
        ("colour == 'red'", "colour"),
        ("dataset.key.matches('(')", ""),
    ],
)
def test_a_rule_that_cannot_be_evaluated_is_named_with_the_reason(require: str, reason: str) -> None:
    good = rule("size(dataset.owners) > 0", name="good")
    decisions, [failed] = decide(Policies((rule(require), good)), [subject()], NOON)
    assert (failed.rule.name, failed.dataset) == ("owner_is_named", "shop/orders")
    assert reason in failed.reason
    assert [each.rule.name for each in decisions] == ["good"]


def test_a_rule_that_takes_forever_is_stopped_and_the_others_are_evaluated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(evaluation, "SECONDS", 3)
    columns = [{"name": f"c{number}"} for number in range(1000)]
    loops = "dataset.columns.all(a, " * 4 + "a.name != ''" + ")" * 4
    rules = (
        rule("size(dataset.owners) > 0", name="first"),
        rule(loops, name="endless"),
        rule("false", name="last"),
    )
    decisions, [failed] = decide(Policies(rules), [subject(columns=columns)], NOON)
    assert failed.rule.name == "endless"
    assert failed.reason == "it did not end within 3 seconds"
    assert [each.rule.name for each in decisions] == ["first", "last"]

    # What comes in next does not wait for it again.
    monkeypatch.setattr(evaluation, "answers", lambda *_: pytest.fail("it was asked again"))
    assert decide(Policies(rules[1:2]), [subject(columns=columns)], NOON) == ([], [failed])


def test_rules_see_the_whole_declaration(project: Path) -> None:
    write(
        project,
        "rules.yaml",
        *(
            OWNER
            | {"name": f"sees_{number}", "applies": "dataset.key == 'shop/raw_orders'", "require": require}
            for number, require in enumerate(
                [
                    "dataset.kind == 'external' && dataset.domain == 'shop' && dataset.name == 'raw_orders'",
                    "dataset.consumers == ['shop/orders']",
                    "dataset.classification == 'restricted' && dataset.classification_level == 3",
                    "now > timestamp('2026-01-01T00:00:00Z')",
                ]
            )
        ),
    )
    assert run("check").exit_code == 0, run("check").stderr


def test_rules_are_tested_with_their_cases(project: Path) -> None:
    write(project, "rules.yaml", OWNER, CLASSIFIED, OWNER | {"name": "untested"})
    cases: list[dict[str, object]] = [
        {"rule": "owner_is_named", "name": "none", "outcome": "deny"},
        {"rule": "owner_is_named", "name": "one", "dataset": {"owners": ["a"]}, "outcome": "allow"},
        {
            "rule": "classification_is_kept",
            "name": "low",
            "inputs": [{"classification": "internal"}],
            "outcome": "hold",
        },
    ]
    write(project, "tests.yaml", *cases)
    passed = run("policy", "test")
    assert passed.exit_code == 0, passed.output
    assert "3 tests, 0 failed." in passed.stdout
    assert "Rules without a test: untested." in passed.stdout
    write(project, "tests.yaml", *cases, cases[0] | {"name": "wrong", "outcome": "allow"})
    failed = run("policy", "test")
    assert failed.exit_code == 1
    assert "FAILED owner_is_named, wrong: expected allow, is deny" in failed.stdout
    [wrong] = [
        each
        for each in json.loads(run("policy", "test", "--json").stdout)["tests"]
        if each["name"] == "wrong"
    ]
    assert (wrong["expected"], wrong["outcome"]) == ("allow", "deny")


def test_an_unknown_dataset_is_not_explained(project: Path) -> None:
    write(project, "rules.yaml", OWNER)
    unknown = run("policy", "explain", "shop/nothing")
    assert unknown.exit_code == 1
    assert "shop/nothing is not declared in this project" in unknown.stderr


def test_a_project_without_policies_refuses_nothing(project: Path) -> None:
    assert run("check").exit_code == 0
    assert "All policies are met." in run("policy", "explain").stdout


def test_files_that_are_not_read_are_problems(project: Path) -> None:
    write(project, "naming.yaml", OWNER)
    (project / "policies" / "rules.yaml").symlink_to(project / "gone.yaml")
    result = run("check")
    assert result.exit_code == 1
    assert "policies/naming.yaml:1: a file of this name is not read" in result.output
    assert "policies/rules.yaml:1: not a file, or a link to none" in result.output


def test_a_control_character_is_a_problem_with_its_line(project: Path) -> None:
    (project / "policies").mkdir()
    (project / "policies" / "rules.yaml").write_text("# rules\n- {name: a\x00}\n")
    result = run("check")
    assert result.exit_code == 1
    assert "policies/rules.yaml:2: invalid YAML" in result.output


def test_an_alias_of_itself_is_a_problem_of_its_file(project: Path) -> None:
    write(project, "rules.yaml", OWNER)
    (project / "policies" / "tests.yaml").write_text(
        "- &a\n  rule: owner_is_named\n  dataset: {tags: {x: *a}}\n"
    )
    result = run("policy", "test")
    assert result.exit_code == 1
    assert "policies/tests.yaml:1: invalid YAML: nested too deeply, or an alias" in result.output


def test_a_test_with_bytes_is_a_problem_at_its_line(project: Path) -> None:
    write(project, "rules.yaml", OWNER)
    text = "- {rule: owner_is_named, name: odd, dataset: {description: !!binary aGVsbG8=}, outcome: deny}\n"
    (project / "policies" / "tests.yaml").write_text(text)
    result = run("policy", "test")
    assert result.exit_code == 1
    assert "policies/tests.yaml:1: 0.dataset: a value is not of JSON" in result.output


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ({"owner": ["team:a"]}, "a dataset has no owner"),
        ({"columns": ["id"]}, "another form"),
        ({"tags": None}, "another form"),
    ],
)
def test_a_test_of_what_no_dataset_has_is_a_problem(
    project: Path, dataset: dict[str, object], message: str
) -> None:
    write(project, "rules.yaml", OWNER)
    case = {"rule": "owner_is_named", "name": "odd", "dataset": dataset, "outcome": "deny"}
    write(project, "tests.yaml", case)
    result = run("policy", "test")
    assert result.exit_code == 1
    assert "policies/tests.yaml:3" in result.output
    assert message in result.output
