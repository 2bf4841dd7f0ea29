"""`headrace access`: roles of people, tokens of services, and the audit trail."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from headrace.terminal.arguments import AsJson, current_user, examples
from headrace.terminal.output import ago, emit, moment, show, table

if TYPE_CHECKING:
    from headrace.access.audit import AuditEntry
    from headrace.access.callers import Permission, Role

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

User = Annotated[
    str, typer.Argument(metavar="USER", help="The user, as named in the issuer's tokens (`sub`).")
]
RoleName = Annotated[
    str, typer.Argument(metavar="ROLE", help="The role, as listed by `headrace access roles`.")
]
Service = Annotated[str, typer.Argument(metavar="SERVICE", help="The name of the service.")]
Domain = Annotated[
    str, typer.Option("--domain", "-d", metavar="DOMAIN", help="Only for datasets of this domain.")
]
Organisation = Annotated[
    str | None,
    typer.Option(
        "--organisation", "-o", metavar="NAME", help="The organisation. [default: from the settings]"
    ),
]
Words = Annotated[
    list[str],
    typer.Option(
        "--may", metavar="PERMISSION", help="A permission, as listed by `headrace access roles`; repeatable."
    ),
]


@app.command(
    epilog=examples(
        "headrace access grant alice DATA_OWNER --domain flights", "headrace access grant bob PLATFORM_ADMIN"
    )
)
def grant(user: User, role: RoleName, domain: Domain = "*", organisation: Organisation = None) -> None:
    """Grant a user a role in one domain or in all domains."""
    from headrace.access import grants
    from headrace.database.connection import connect

    grants.grant(connect(), user, _role(role), domain=domain, organisation=organisation, by=current_user())
    typer.echo(f"{user} has {role} for {_domain_text(domain)}.")


@app.command(epilog=examples("headrace access revoke alice DATA_OWNER --domain flights"))
def revoke(user: User, role: RoleName, domain: Domain = "*", organisation: Organisation = None) -> None:
    """Revoke a role from a user, effective on their next request."""
    from headrace.access import grants
    from headrace.database.connection import connect

    grants.revoke(connect(), user, _role(role), domain=domain, organisation=organisation, by=current_user())
    typer.echo(f"{user} no longer has {role} for {_domain_text(domain)}.")


@app.command("grants", epilog=examples("headrace access grants", "headrace access grants alice --json"))
def list_grants(
    user: Annotated[str | None, typer.Argument(metavar="USER", help="Only this user. [default: all]")] = None,
    as_json: AsJson = False,
) -> None:
    """List users and their roles."""
    from headrace.access.grants import grants
    from headrace.database.connection import connect

    found = grants(connect(), user)
    if as_json:
        emit(found)
        return
    rows = [
        (row.organisation, row.subject, row.role, row.domain, row.granted_by, ago(row.granted_at))
        for row in found
    ]
    show(table(["organisation", "subject", "role", "domain", "granted by", ""], rows))


@app.command(epilog=examples("headrace access roles"))
def roles(as_json: AsJson = False) -> None:
    """List the roles and their permissions."""
    from headrace.access.callers import ROLES, Permission

    if as_json:
        emit({role: [each for each in Permission if each in ROLES[role]] for role in ROLES})
        return
    rows = [(each, *["yes" if each in ROLES[role] else "" for role in ROLES]) for each in Permission]
    show(table(["permission", *ROLES], rows))


@app.command(
    epilog=examples(
        "headrace access token airflow --may report",
        "headrace access token dashboard --may read --domain flights --days 30",
    )
)
def token(
    service: Service,
    may: Words,
    domain: Domain = "*",
    organisation: Organisation = None,
    days: Annotated[int, typer.Option(min=1, max=366, metavar="N", help="Lifetime in days.")] = 90,
    as_json: AsJson = False,
) -> None:
    """Issue a token to a service.

    It is printed once; only its digest is stored.
    """
    from headrace.access.tokens import issue_service_token
    from headrace.database.connection import connect

    issued = issue_service_token(
        connect(),
        service,
        [_permission(word) for word in may],
        domain=domain,
        organisation=organisation,
        lifetime=timedelta(days=days),
        by=current_user(),
    )
    if as_json:
        emit({"service": service, "token": issued, "days": days})
    else:
        typer.echo(f"Send it as `Authorization: Bearer TOKEN`; it expires in {days} days:", err=True)
        typer.echo(issued)


@app.command(epilog=examples("headrace access tokens"))
def tokens(as_json: AsJson = False) -> None:
    """List service tokens, without the secrets."""
    from headrace.access.tokens import service_tokens
    from headrace.database.connection import connect

    found = service_tokens(connect())
    if as_json:
        emit(found)
        return
    rows = [
        (
            row.organisation,
            row.name,
            row.permissions,
            row.domain,
            row.issued_by,
            moment(row.expires_at),
            ago(row.last_used_at),
        )
        for row in found
    ]
    show(table(["organisation", "service", "may", "domain", "issued by", "ends", "used"], rows))


@app.command("revoke-token", epilog=examples("headrace access revoke-token airflow"))
def revoke_token(service: Service, organisation: Organisation = None) -> None:
    """Revoke the token of a service."""
    from headrace.access.tokens import revoke_service_token
    from headrace.database.connection import connect

    revoke_service_token(connect(), service, organisation=organisation, by=current_user())
    typer.echo(f"The token of {service} is revoked.")


@app.command(
    "task-token",
    epilog=examples(
        "headrace access task-token 8a4c1f0e-5b7d-4c0e-9a53-8f0c1d7a4e21 --output flights/daily_delays",
        "headrace access task-token 4711 --process LOAD_FLIGHTS --output ops/flights",
    ),
)
def task_token(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="The run id (the run need not have started), or with --process the scheduler's run number.",
        ),
    ],
    process: Annotated[
        str | None, typer.Option(metavar="NAME", help="The external process of the run, by name or key.")
    ] = None,
    technology: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With --process: its technology. [default: that of the scanned process]"
        ),
    ] = None,
    instance: Annotated[
        str,
        typer.Option(metavar="NAME", help="With --process: the scheduler instance, if there are several."),
    ] = "",
    output: Annotated[
        list[str] | None,
        typer.Option(metavar="DATASET", help="A dataset the run may report as output; repeatable."),
    ] = None,
    reads: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="DATASET", help="A dataset the run may read metadata of; repeatable."
        ),
    ] = None,
    minutes: Annotated[int, typer.Option(min=1, max=1440, metavar="N", help="Lifetime in minutes.")] = 60,
) -> None:
    """Issue a token for one run of a job or wrapper script.

    It expires with the run.
    """
    from headrace.access.tokens import issue_task_token
    from headrace.database.connection import connect

    engine = connect()
    if process is None:
        try:
            run_id = UUID(run)
        except ValueError as error:
            raise typer.BadParameter(f"{run!r} is not a run id; use --process for a run number") from error
    else:
        from headrace.job_reports.reported_runs import UnclearRun, reported_run_id

        fields = {"process": process, "instance": instance, "technology": technology, "run": run}
        try:
            run_id = reported_run_id(engine, fields)
        except UnclearRun as error:
            raise typer.BadParameter(str(error)) from error
    typer.echo(
        issue_task_token(
            engine, run_id, output or (), reads or (), lifetime=timedelta(minutes=minutes), by=current_user()
        )
    )


@app.command("dev-token", epilog=examples("headrace access dev-token alice"))
def dev_token(
    user: User,
    hours: Annotated[float, typer.Option(min=0.01, max=24, metavar="N", help="Lifetime in hours.")] = 8,
) -> None:
    """Issue a user token for development without an issuer."""
    from headrace.access.issuers import DevelopmentIssuer
    from headrace.context import current_context

    typer.echo(DevelopmentIssuer(current_context().settings).issue(user, timedelta(hours=hours)))


@app.command(epilog=examples("headrace access organisation acme"))
def organisation(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The name to create. [default: list organisations]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create an organisation, or list organisations.

    Organisations are isolated from each other.
    """
    from headrace.access.grants import add_organisation, organisations
    from headrace.database.connection import connect

    engine = connect()
    made = name is not None and add_organisation(engine, name, by=current_user())
    if as_json:
        emit(organisations(engine))
    elif name is None:
        typer.echo("\n".join(organisations(engine)))
    else:
        typer.echo(f"Organisation {name} created." if made else f"Organisation {name} already exists.")


@app.command(
    epilog=examples(
        "headrace access audit",
        "headrace access audit --subject user:alice",
        "headrace access audit --of flights/daily_delays",
    )
)
def audit(
    subject: Annotated[
        str | None,
        typer.Option(
            metavar="SUBJECT", help="Only entries of this subject: user:NAME, service:NAME or task:RUN."
        ),
    ] = None,
    of: Annotated[str | None, typer.Option(metavar="OBJECT", help="Only entries about this object.")] = None,
    organisation: Organisation = None,
    limit: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum number of entries, newest first.")
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the audit trail: changes, and reads of sensitive data."""
    from headrace.access.audit import entries
    from headrace.database.connection import connect

    found = entries(connect(), organisation=organisation, subject=subject, object_name=of, limit=limit)
    if as_json:
        emit(found)
        return
    rows = [
        (moment(row.at), row.subject, row.action, row.object_type, row.object, _detail_text(row))
        for row in found
    ]
    show(table(["at", "subject", "", "what", "object", "detail"], rows))


def _role(name: str) -> Role:
    from headrace.access.callers import Role

    if name.upper() not in Role.__members__:
        raise typer.BadParameter(f"{name!r} is not a role; use one of {', '.join(Role)}")
    return Role(name.upper())


def _permission(word: str) -> Permission:
    from headrace.access.callers import Permission

    if word.lower() not in list(Permission):
        raise typer.BadParameter(f"{word!r} is not a permission; use one of {', '.join(Permission)}")
    return Permission(word.lower())


def _domain_text(domain: str) -> str:
    return "every domain" if domain == "*" else f"the domain {domain}"


def _detail_text(entry: AuditEntry) -> str:
    """Return the kinds that were read, or the columns that were changed."""
    kinds = entry.detail.get("kinds")
    return ", ".join(kinds if isinstance(kinds, list) else entry.detail)
