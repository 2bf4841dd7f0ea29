"""Lint rules for names that are used in conditions, schedules or jobs but declared nowhere."""

from collections.abc import Iterator

from headrace.autosys.estate import Estate
from headrace.autosys.findings import Finding
from headrace.autosys.jobs import Job, globals_of
from headrace.nouns import counted
from headrace.severity import Severity


def unknown_instances(estate: Estate) -> Iterator[Finding]:
    """Yield conditions on jobs of schedulers that no insert_xinst declares."""
    declared = estate.things.get("xinst", {})
    for edge in estate.edges:
        if edge.atom.instance is not None and edge.atom.instance not in declared:
            yield Finding(
                "estate/unknown-instance",
                Severity.INFO,
                f"{edge.text} asks scheduler {edge.atom.instance}, which no insert_xinst declares",
                edge.file,
                edge.line,
                edge.downstream,
                edge.attribute,
                "add the file that declares it",
            )


def unknown_calendars(estate: Estate) -> Iterator[Finding]:
    """Yield calendars that schedules use and no export contains: one finding for each, at the first job."""
    seen: dict[str, list[tuple[Job, str]]] = {}
    for job in estate.jobs.values():
        for attribute, name in (
            ("run_calendar", job.schedule.run_calendar),
            ("exclude_calendar", job.schedule.exclude_calendar),
        ):
            if name and name not in estate.calendars.calendars:
                seen.setdefault(name, []).append((job, attribute))
    for name, uses in seen.items():
        job, attribute = uses[0]
        yield finding_at(
            job,
            "unknown-calendar",
            Severity.WARNING,
            f"calendar {name} is in no export (used by {counted(len(uses), 'job')}); start times are unknown",
            attribute,
            "export it with autocal_asc and add the file",
        )


def unknown_machines(estate: Estate) -> Iterator[Finding]:
    """Yield undeclared machines of jobs; none if the files declare no machine at all."""
    declared = estate.things.get("machine", {})
    seen: dict[str, list[Job]] = {}
    for job in estate.jobs.values() if declared else ():
        for name in job.machines:
            if name not in declared and name.lower() != "localhost" and "`" not in name:
                seen.setdefault(name, []).append(job)
    for name, jobs in seen.items():
        yield finding_at(
            jobs[0],
            "unknown-machine",
            Severity.INFO,
            f"machine {name} is declared nowhere (named by {counted(len(jobs), 'job')})",
            "machine",
        )


def unknown_globals(estate: Estate) -> Iterator[Finding]:
    """Yield global variables in conditions that no insert_glob sets."""
    declared = estate.things.get("glob", {})
    seen: set[str] = set()
    for job in estate.jobs.values():
        for atom, attribute in globals_of(job):
            if atom.name not in declared and atom.name not in seen:
                seen.add(atom.name)
                yield finding_at(
                    job,
                    "unknown-global",
                    Severity.INFO,
                    f"global variable {atom.name} is set by no insert_glob",
                    attribute,
                    "find what sets it, as by sendevent: the dependency is hidden there",
                )


def finding_at(
    job: Job,
    rule: str,
    severity: Severity,
    message: str,
    attribute: str | None = None,
    hint: str | None = None,
) -> Finding:
    """Create a finding about a job, at the place of the attribute, or of the job without one."""
    file, line = job.place(attribute) if attribute else (job.file, job.line)
    return Finding(f"estate/{rule}", severity, message, file, line, job.name, attribute, hint)
