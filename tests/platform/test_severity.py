"""One scale of severity: ordered by rank."""

from headrace.severity import Severity


def test_severities_compare_by_rank_and_not_as_text() -> None:
    assert sorted(Severity) == [Severity.INFO, Severity.WARNING, Severity.ERROR, Severity.CRITICAL]
    assert max(Severity.WARNING, Severity.ERROR) is Severity.ERROR
    assert Severity.INFO <= Severity.INFO < Severity.WARNING
