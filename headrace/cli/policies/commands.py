"""`headrace policy`: decisions of the project's policies, and the tests of its rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.nouns import counted
from headrace.terminal.arguments import AsJson, dataset_keys, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit, show, table

if TYPE_CHECKING:
    from headrace.execution.problems import DeclarationError
    from headrace.policies.evaluation import Decision

app = typer.Typer(no_args_is_help=True)


@app.command(epilog=examples("headrace policy explain", "headrace policy explain flights/flights_clean"))
def explain(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATASET]...",
            help="Keys of declared datasets. [default: all]",
            autocompletion=dataset_keys,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show which datasets do not meet which rules, and how to comply.

    `headrace check` refuses those with the outcome `deny` or `hold`. Allowed are those with an exception.
    """
    from headrace.policies.checking import decisions_of
    from headrace.project import project_root

    root = project_root()
    decisions, problems = decisions_of(root, datasets or ())
    if as_json:
        emit(
            {
                "decisions": [
                    {
                        "dataset": each.dataset,
                        "rule": each.rule.name,
                        "outcome": each.outcome,
                        "message": each.rule.message,
                        "comply": each.rule.comply,
                        "exception": each.exception and each.exception.model_dump(mode="json"),
                    }
                    for each in decisions
                ]
            }
        )
    elif decisions:
        show(
            table(
                ["dataset", "rule", "outcome", "message", "to comply"],
                [
                    (each.dataset, each.rule.name, _outcome(each), each.rule.message, each.rule.comply)
                    for each in decisions
                ],
            )
        )
    elif not problems:
        typer.echo("All policies are met.")
    _refuse(problems)


@app.command("test", epilog=examples("headrace policy test"))
def run_tests(as_json: AsJson = False) -> None:
    """Run the tests of the rules, policies/tests.yaml.

    Exits with 1 if a rule decides otherwise than its test expects.
    """
    from headrace.policies.cases import tested, untested
    from headrace.policies.rules import load_policies
    from headrace.project import project_root

    policies = load_policies(project_root())
    results, without = tested(policies), untested(policies)
    failed = [each for each in results if not each.passed]
    if as_json:
        emit(
            {
                "tests": [
                    {
                        "rule": each.case.rule,
                        "name": each.case.name,
                        "expected": each.case.outcome,
                        "outcome": each.outcome,
                        "reason": each.reason,
                    }
                    for each in results
                ],
                "untested_rules": without,
            }
        )
    else:
        for each in failed:
            found = f"cannot be evaluated: {each.reason}" if each.outcome is None else f"is {each.outcome}"
            typer.echo(f"FAILED {each.case.rule}, {each.case.name}: expected {each.case.outcome}, {found}")
        typer.echo(f"{counted(len(results), 'test')}, {len(failed)} failed.")
        if without:
            typer.echo(f"Rules without a test: {', '.join(without)}.")
    _refuse(policies.problems)
    if failed:
        raise CommandError(f"{counted(len(failed), 'test')} of policies failed")


def _outcome(decision: Decision) -> str:
    if decision.exception is None:
        return str(decision.outcome)
    if decision.outcome == "allow":
        return f"allowed until {decision.exception.until} by {decision.exception.approved_by}"
    return f"{decision.outcome}; its exception expired on {decision.exception.until}"


def _refuse(problems: Sequence[DeclarationError]) -> None:
    from headrace.execution.problems import relative_to
    from headrace.project import project_root

    if problems:
        with relative_to(project_root()):
            listed = "\n".join(map(str, problems))
        raise CommandError(f"{counted(len(problems), 'problem')} in policies/\n{listed}")
