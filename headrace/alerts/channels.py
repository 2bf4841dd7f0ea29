"""Alert channels of other packages, one per URL scheme, in addition to those of apprise."""

from __future__ import annotations

from functools import cache
from typing import Protocol

from headrace.alerts.records import RenderedNotification
from headrace.plugins import Registry


class AlertChannel(Protocol):
    """Delivers notifications to destinations whose URLs have its scheme."""

    def send(self, url: str, rendered: RenderedNotification) -> None:
        """Deliver a notification. url: the destination's, with secrets filled in. Raises NotDelivered.

        The same `notification_id` may be sent twice, if the sender dies before it records the delivery.
        """
        ...


CHANNELS: Registry[AlertChannel] = Registry("headrace.alert_channels", "alert channel", {})


def schemes() -> frozenset[str]:
    """Return the schemes of all URLs to which notifications can be sent."""
    return _apprise_schemes() | frozenset(CHANNELS.names())


@cache
def _apprise_schemes() -> frozenset[str]:
    from apprise.manager_plugins import NotificationManager  # takes half a second to import

    # Also of those that need a library that is not installed here, but may be where notifications are sent.
    return frozenset(NotificationManager().schemas())  # type: ignore[no-untyped-call]


def is_complete(url: str) -> bool:
    """Return False if the service of this URL needs more than it says, such as a host or a token.

    True for a URL that names environment variables, or whose service needs a library that is not installed here: that
    shows when something is sent.
    """
    return "${" in url or url.partition("://")[0].lower() in CHANNELS.names() or _apprise_accepts(url)


@cache  # the alerts sensor reads the rules every few seconds
def _apprise_accepts(url: str) -> bool:
    import apprise
    from apprise.manager_plugins import NotificationManager

    scheme = url.partition("://")[0].lower()
    services = NotificationManager()  # type: ignore[no-untyped-call]
    if scheme in services and not services[scheme].enabled:
        return True
    service = apprise.Apprise.instantiate(
        url.replace("{owner}", "owner%40example.com"), suppress_exceptions=True
    )
    return service is not None
