"""The range of plausible times for a reported run: not in the future, and not before such runs existed."""

from datetime import UTC, datetime, timedelta

MAX_CLOCK_SKEW = timedelta(minutes=15)  # by which the clocks of two machines may differ
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)  # before it are the zeros of clocks that were never set


class ImpossibleTime(ValueError):
    """A time that no run can have; the message says it and the time that it is now."""


def possible(instant: datetime) -> datetime:
    """The same instant. Raises ImpossibleTime.

    One that is yet to come would outdo all that comes until then: no later completion would be the newest.
    """
    now = datetime.now(UTC)
    if instant > now + MAX_CLOCK_SKEW:
        raise ImpossibleTime(
            f"{_shown(instant)} is yet to come, as it is {_shown(now)} now: "
            "are the clock and the zone of the sender right?"
        )
    if instant < EARLIEST:
        raise ImpossibleTime(f"{_shown(instant)} is before {EARLIEST:%Y}: was the clock of the sender set?")
    return instant


def _shown(instant: datetime) -> str:
    return f"{instant.astimezone(UTC).replace(microsecond=0, tzinfo=None)}Z"
