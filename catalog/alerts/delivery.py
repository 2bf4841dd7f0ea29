"""Handing a message over to the service that carries it, by apprise, with what it knows a second copy by.

| service              | a copy is known by                                             |
|----------------------|----------------------------------------------------------------|
| json, xml, form      | the header Idempotency-Key                                     |
| e-mail               | its Message-ID                                                 |
| PagerDuty, Opsgenie  | the alert's key; a recovery resolves the incident there        |
| any other            | nothing: it may come twice if the sender dies while it sends   |
"""

from __future__ import annotations

import os
import re
import smtplib
from collections.abc import Mapping
from email import message_from_string
from typing import Any, cast
from urllib.parse import quote, urlencode

import apprise
from apprise.common import PersistentStoreMode
from apprise.exception import AppriseException
from apprise.plugins.email.base import NotifyEmail
from apprise.plugins.email.smtp import AppriseSMTPController

from catalog.alerts.records import NotDelivered, Parcel
from catalog.alerts.rules import Destination
from catalog.sla.happenings import Urgency

SECONDS = 15.0  # that a service may take
_REFERENCE = re.compile(r"\$\{(\w+)\}")
_TYPES = {
    Urgency.INFO: apprise.NotifyType.INFO,
    Urgency.WARNING: apprise.NotifyType.WARNING,
    Urgency.ERROR: apprise.NotifyType.FAILURE,
}
_WITH_HEADERS = frozenset({"json", "jsons", "xml", "xmls", "form", "forms"})
_BY_ALERT = {"pagerduty": "dedup", "opsgenie": "alias"}


def deliver(destination: Destination, address: str, parcel: Parcel) -> None:
    """Hand a message over. address: of a personal destination, whose. Raises NotDelivered."""
    service = _service(resolved(destination, address), _known_by(destination, parcel), destination)
    kind = apprise.NotifyType.SUCCESS if parcel.is_recovery else _TYPES[parcel.severity]
    if type(service) is NotifyEmail:
        _mail(service, parcel)
        return
    one = apprise.Apprise(asset=_asset())
    one.add(service)
    result = one.notify(
        body=parcel.body,
        title=parcel.title,
        notify_type=kind,
        body_format=apprise.NotifyFormat.TEXT,
        timeout=SECONDS,
    )
    if not result:
        said = [str(entry.message) for entry in result.logs()]
        raise NotDelivered(said[-1] if said else f"the service says {result.status.name.lower()}")


def resolved(destination: Destination, address: str) -> str:
    """The destination's URL, secrets and the owner filled in. Raises NotDelivered for a variable that is not set."""
    whole = _REFERENCE.fullmatch(destination.url)

    def value(found: re.Match[str]) -> str:
        given = os.environ.get(found[1], "")
        if not given:
            raise NotDelivered(
                f"the environment variable {found[1]}, which {destination.name} needs, is not set"
            )
        return given if whole else quote(given, safe="")

    return _REFERENCE.sub(value, destination.url).replace("{owner}", quote(address, safe=""))


def _known_by(destination: Destination, parcel: Parcel) -> dict[str, str]:
    """What is added to the URL, so that the service knows the message again."""
    scheme = resolved(destination, "").partition("://")[0].lower()
    if scheme in _WITH_HEADERS:
        return {
            "+Idempotency-Key": str(parcel.message_id),
            ":alert": str(parcel.thread),
            ":state": "recovered" if parcel.is_recovery else "firing",
        }
    if scheme in _BY_ALERT:
        return {_BY_ALERT[scheme]: str(parcel.thread), "action": "map"}
    return {}


def _service(url: str, added: Mapping[str, str], destination: Destination) -> Any:  # noqa: ANN401 - one of apprise's many
    whole = f"{url}{'&' if '?' in url else '?'}{urlencode(added)}" if added else url
    service = apprise.Apprise.instantiate(whole, asset=_asset(), suppress_exceptions=True)
    if service is None:
        raise NotDelivered(
            f"the URL of {destination.name} is none that apprise knows; its pages say how the service's is written"
        )
    return service


def _asset() -> apprise.AppriseAsset:
    return apprise.AppriseAsset(
        app_id="Headrace", app_desc="Headrace alerts", storage_mode=PersistentStoreMode.MEMORY
    )


def _mail(service: NotifyEmail, parcel: Parcel) -> None:
    """A mail under the message's own Message-ID, in one thread with the others of its alert.

    apprise would draw a new Message-ID for each try.
    """
    sender = str(service.from_addr[1])
    domain = sender.rpartition("@")[2] or "headrace"
    prepared = NotifyEmail.prepare_emails(
        subject=parcel.title,
        body=parcel.body,
        notify_format=apprise.NotifyFormat.TEXT,
        from_addr=service.from_addr,
        to=service.targets,
        cc=service.cc,
        bcc=service.bcc,
        reply_to=service.reply_to,
        smtp_host=service.smtp_host,
        headers={
            "X-Application": "Headrace",
            "Auto-Submitted": "auto-generated",
            "References": f"<{parcel.thread}@{domain}>",
            **service.headers,
        },
        names=service.names,
    )
    try:
        with AppriseSMTPController(
            host=service.smtp_host,
            port=cast(int, service.port),
            secure_mode=cast(str, service.secure_mode),
            user=service.user,
            password=service.password,
            verify_certificate=service.verify_certificate,
            socket_connect_timeout=int(service.socket_connect_timeout),
        ) as server:
            for mail in prepared:
                letter = message_from_string(mail.body)
                letter.replace_header("Message-ID", f"<{parcel.message_id}@{domain}>")
                if not server.sendmail(sender, mail.to_addrs, letter.as_string()):
                    raise NotDelivered(f"the mail server {service.smtp_host} does not take it")
    except (smtplib.SMTPException, OSError, AppriseException) as error:
        raise NotDelivered(f"the mail server {service.smtp_host} cannot be had: {error}") from error
