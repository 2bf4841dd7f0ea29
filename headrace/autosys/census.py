"""Counts of everything in an estate."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.autosys.estate import Estate


@dataclass(frozen=True, slots=True)
class Census:
    """The counts of an estate.

    jobs: by type, most frequent first. nested: boxes within boxes. machines, owners: those named by jobs. edges:
    dependencies between jobs; elsewhere: those on jobs of other schedulers. others: other objects, by kind.
    """

    jobs: Mapping[str, int]
    boxes: int
    nested: int
    machines: int
    owners: int
    calendars: int
    cycles: int
    edges: int
    elsewhere: int
    others: Mapping[str, int]


def census(estate: Estate) -> Census:
    """Count everything in the files after all statements."""
    boxes = [job for job in estate.jobs.values() if job.type == "BOX"]
    return Census(
        jobs=dict(Counter(job.type for job in estate.jobs.values()).most_common()),
        boxes=len(boxes),
        nested=sum(job.box is not None for job in boxes),
        machines=len({name for job in estate.jobs.values() for name in job.machines}),
        owners=len({job.owner for job in estate.jobs.values() if job.owner}),
        calendars=len(estate.calendars.calendars),
        cycles=len(estate.calendars.cycles),
        edges=len(estate.edges),
        elsewhere=sum(edge.atom.instance is not None for edge in estate.edges),
        others={kind: len(named) for kind, named in estate.things.items()},
    )
