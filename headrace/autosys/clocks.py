"""The range of plausible times for a reported run: not in the future, and not before such runs existed."""

from datetime import UTC, datetime, timedelta

MAX_CLOCK_SKEW = timedelta(minutes=15)  # allowed clock skew between two machines
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)  # earlier times are zeros of clocks that were never set


class ImpossibleTime(ValueError):
    """A time that no run can have; the message contains it and the current time."""


def possible(instant: datetime) -> datetime:
    """Return the instant unchanged. Raises ImpossibleTime.

    One in the future would be newer than all completions until then: none of them would be the newest.
    """
    now = datetime.now(UTC)
    if instant > now + MAX_CLOCK_SKEW:
        raise ImpossibleTime(
            f"{_shown(instant)} is in the future; it is {_shown(now)} now: "
            "check the clock and the time zone of the sender"
        )
    if instant < EARLIEST:
        raise ImpossibleTime(f"{_shown(instant)} is before {EARLIEST:%Y}: was the clock of the sender set?")
    return instant


def _shown(instant: datetime) -> str:
    return f"{instant.astimezone(UTC).replace(microsecond=0, tzinfo=None)}Z"
