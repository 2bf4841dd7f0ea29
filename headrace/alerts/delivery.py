"""Deliver notifications through apprise, with the deduplication key that each service supports.

| service              | deduplicated by                                                |
|----------------------|----------------------------------------------------------------|
| json, xml, form      | the header Idempotency-Key                                     |
| e-mail               | its Message-ID                                                 |
| PagerDuty, Opsgenie  | the alert's key; its last message resolves the incident there  |
| any other            | nothing: duplicates are possible if the sender dies            |
"""

from __future__ import annotations

import logging
import smtplib
from collections.abc import Callable, Mapping
from email import message_from_string
from email.message import Message
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from threading import Thread
from typing import Any, cast
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from uuid import uuid4

import apprise
from apprise.common import PersistentStoreMode
from apprise.exception import AppriseException
from apprise.plugins.email.base import NotifyEmail
from apprise.plugins.email.smtp import AppriseSMTPController
from apprise.plugins.opsgenie import OPSGENIE_API_LOOKUP, NotifyOpsgenie
from apprise.plugins.pagerduty import NotifyPagerDuty

from headrace.alerts.channels import CHANNELS
from headrace.alerts.markup import html, markdown
from headrace.alerts.records import NotDelivered, RenderedNotification
from headrace.alerts.rules import Destination
from headrace.outgoing import NoAnswer, fetch
from headrace.severity import Severity
from headrace.variables import UnsetVariable, url_with_variables

MAX_SECONDS = 15.0  # seconds for a delivery; a shorter limit
MAIL_SECONDS = 60.0  # for all of a mail's commands, each of which has a limit for every read only
_ANSWER_SECONDS = 12.0  # would send duplicates to services that are slow to confirm
_TYPES = {
    Severity.INFO: apprise.NotifyType.INFO,
    Severity.WARNING: apprise.NotifyType.WARNING,
    Severity.ERROR: apprise.NotifyType.FAILURE,
    Severity.CRITICAL: apprise.NotifyType.FAILURE,
}
# Priorities of Opsgenie: https://support.atlassian.com/opsgenie/docs/what-are-alert-priority-levels/
_OPSGENIE_PRIORITIES = {Severity.INFO: 5, Severity.WARNING: 3, Severity.ERROR: 2, Severity.CRITICAL: 1}
_WITH_HEADERS = frozenset({"json", "jsons", "xml", "xmls", "form", "forms"})
_BY_ALERT: Mapping[str, Mapping[str, str]] = {
    "pagerduty": {"dedup": "{}", "action": "map"},
    # One call for all responders: Opsgenie only counts a second one with the same alias.
    "opsgenie": {"alias": "{}", "action": "new", "batch": "yes"},
}
# At DEBUG they log complete URLs, including tokens.
for _each in ("apprise", "urllib3.connectionpool"):
    logging.getLogger(_each).setLevel(logging.INFO)
_NO_SOURCE = NotifyPagerDuty.template_tokens["source"]["default"]


def deliver(destination: Destination, address: str, rendered: RenderedNotification) -> None:
    """Deliver a notification. address: the owner's, for a personal destination. Raises NotDelivered."""
    url = resolved(destination, address)
    scheme = url.partition("://")[0].lower()
    if scheme in CHANNELS:
        CHANNELS.get(scheme).send(url, rendered)
        return
    service = _service(url, _known_by(destination, rendered), destination)
    if type(service) is NotifyEmail:
        _within(MAIL_SECONDS, f"the mail server {service.smtp_host}", lambda: _mail(service, rendered))
    elif type(service) is NotifyOpsgenie and rendered.ends_thread:
        _close(service, rendered)
    elif type(service) is NotifyOpsgenie:
        if "priority" not in parse_qs(urlsplit(url).query):
            service.priority = _OPSGENIE_PRIORITIES[rendered.severity]
        _notify(service, rendered, rendered.title, rendered.body, apprise.NotifyFormat.TEXT)
    elif type(service) is NotifyPagerDuty:
        service.details |= {"message": rendered.body}  # the summary is cut after 1024 characters
        service.source = "Headrace" if service.source == _NO_SOURCE else service.source
        _notify(service, rendered, "", rendered.title, apprise.NotifyFormat.TEXT)
    elif _takes_markdown(service):
        _notify(service, rendered, rendered.title, markdown(rendered.body), apprise.NotifyFormat.MARKDOWN)
    else:
        _notify(service, rendered, rendered.title, rendered.body, apprise.NotifyFormat.TEXT)


def deliver_test(destination: Destination, address: str = "") -> None:
    """Deliver a test notification. Raises NotDelivered."""
    body = "This is a test notification from Headrace. No action is needed."
    deliver(
        destination, address, RenderedNotification(uuid4(), uuid4(), "Headrace test", body, Severity.INFO)
    )


def resolved(destination: Destination, address: str) -> str:
    """Return the destination's URL with secrets and the owner filled in. Raises NotDelivered for an unset variable."""
    try:
        url = url_with_variables(destination.url)
    except UnsetVariable as error:
        raise NotDelivered(
            f"the environment variable {error}, which {destination.name} needs, is not set"
        ) from error
    return url.replace("{owner}", quote(address, safe=""))


def _known_by(destination: Destination, rendered: RenderedNotification) -> dict[str, str]:
    """Return the URL parameters by which the service deduplicates."""
    scheme = resolved(destination, "").partition("://")[0].lower()
    if scheme in _WITH_HEADERS:
        return {
            "+Idempotency-Key": str(rendered.notification_id),
            ":alert": str(rendered.thread),
            ":state": "recovered" if rendered.ends_thread else "firing",
        }
    if scheme in _BY_ALERT:
        return {name: value.format(rendered.thread) for name, value in _BY_ALERT[scheme].items()}
    return {}


def _service(url: str, added: Mapping[str, str], destination: Destination) -> Any:  # noqa: ANN401 - one of apprise's many
    whole = f"{url}{'&' if '?' in url else '?'}{urlencode(added)}" if added else url
    service = apprise.Apprise.instantiate(whole, asset=_asset(), suppress_exceptions=True)
    if service is None:
        raise NotDelivered(
            f"apprise does not support the URL of {destination.name}; see its documentation for the service's URL"
        )
    service.socket_read_timeout = max(service.socket_read_timeout, _ANSWER_SECONDS)
    return service


def _takes_markdown(service: apprise.NotifyBase) -> bool:
    """Return True for a chat, where a link has a text. A webhook gets plain text; HTML is better than a dialect."""
    supported: object = service.notify_format
    formats = supported if isinstance(supported, tuple) else (supported,)
    return apprise.NotifyFormat.MARKDOWN in formats and apprise.NotifyFormat.HTML not in formats


def _asset() -> apprise.AppriseAsset:
    return apprise.AppriseAsset(
        app_id="Headrace", app_desc="Headrace alerts", storage_mode=PersistentStoreMode.MEMORY
    )


def _notify(
    service: apprise.NotifyBase,
    rendered: RenderedNotification,
    title: str,
    body: str,
    written_in: apprise.NotifyFormat,
) -> None:
    one = apprise.Apprise(asset=_asset())
    one.add(service)
    result = one.notify(
        body=body,
        title=title,
        notify_type=apprise.NotifyType.SUCCESS if rendered.ends_thread else _TYPES[rendered.severity],
        body_format=written_in,
        timeout=MAX_SECONDS,
    )
    if not result:
        response = [str(entry.message) for entry in result.logs()]
        raise NotDelivered(response[-1] if response else f"the service answered {result.status.name.lower()}")


def _close(service: NotifyOpsgenie, rendered: RenderedNotification) -> None:
    """Close the service's alert. apprise would close only alerts opened by the same process."""
    address = f"{OPSGENIE_API_LOOKUP[str(service.region_name)]}/{rendered.thread}/close"
    try:
        answer = fetch(
            "POST",
            address,
            params={"identifierType": "alias"},
            headers={"Authorization": f"GenieKey {service.apikey}"},
            content={"source": "Headrace alerts", "note": rendered.body},
            seconds=MAX_SECONDS,
        )
    except NoAnswer as error:
        raise NotDelivered(f"Opsgenie {error}") from error
    if not answer.is_success:
        raise NotDelivered(f"Opsgenie does not close the alert: error={answer.status}")


def _within(seconds: float, who: str, send: Callable[[], None]) -> None:
    """Send in a thread, which is left behind at the limit. Raises NotDelivered.

    What it still delivers then is known by its Message-ID when it is sent again.
    """
    failures: list[Exception] = []

    def run() -> None:
        try:
            send()
        except Exception as error:
            failures.append(error)

    thread = Thread(target=run, name="headrace-mail", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise NotDelivered(f"{who} has not answered completely within {seconds:.0f} s")
    if failures:
        raise failures[0]


class _MailServer(AppriseSMTPController):
    """A mail server that reports why it rejects a mail; apprise's own hides the reason."""

    def sendmail(self, from_addr: str, to_addrs: list[str], message: str) -> bool:
        """Send a mail. Raises SMTPException."""
        server = cast(smtplib.SMTP, self._socket)
        if refused := server.sendmail(from_addr, to_addrs, message):
            raise smtplib.SMTPRecipientsRefused(refused)
        return True


def _mail(service: NotifyEmail, rendered: RenderedNotification) -> None:
    """Send a mail with the notification's Message-ID, in one thread with the others of its alert.

    apprise would generate a new Message-ID for each try.
    """
    sender = str(service.from_addr[1])
    domain = sender.rpartition("@")[2] or "headrace"
    prepared = NotifyEmail.prepare_emails(
        subject=rendered.title,
        body=rendered.body,
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
            "References": f"<{rendered.thread}@{domain}>",
            **service.headers,
        },
        names=service.names,
    )
    try:
        with _MailServer(
            host=service.smtp_host,
            port=cast(int, service.port),
            secure_mode=cast(str, service.secure_mode),
            user=service.user,
            password=service.password,
            verify_certificate=service.verify_certificate,
            socket_connect_timeout=int(service.socket_read_timeout),  # seconds per response
        ) as server:
            for mail in prepared:
                letter = _letter(message_from_string(mail.body), rendered)
                letter["Message-ID"] = f"<{rendered.notification_id}@{domain}>"
                server.sendmail(sender, mail.to_addrs, letter.as_string())
    except smtplib.SMTPRecipientsRefused as error:
        response = "; ".join(
            f"{who}: {code} {text.decode(errors='replace')}" for who, (code, text) in error.recipients.items()
        )
        raise NotDelivered(f"the mail server {service.smtp_host} rejected it: {response}") from error
    except smtplib.SMTPResponseException as error:
        response = (
            error.smtp_error.decode(errors="replace")
            if isinstance(error.smtp_error, bytes)
            else error.smtp_error
        )
        raise NotDelivered(
            f"the mail server {service.smtp_host} rejected it: {error.smtp_code} {response}"
        ) from error
    except (smtplib.SMTPException, OSError, AppriseException) as error:
        raise NotDelivered(f"the mail server {service.smtp_host} is unreachable: {error}") from error


def _letter(prepared: Message[str, str], rendered: RenderedNotification) -> MIMEMultipart:
    """Return the mail prepared by apprise, with our Message-ID, as text and HTML."""
    letter = MIMEMultipart("alternative")
    for name, value in prepared.items():
        if name.lower() not in ("message-id", "mime-version", "content-type", "content-transfer-encoding"):
            letter[name] = value
    letter.attach(MIMEText(rendered.body, "plain", "utf-8"))
    letter.attach(MIMEText(html(rendered.body), "html", "utf-8"))
    return letter
