"""Channels that other packages add to those of apprise: one for each URL scheme."""

from __future__ import annotations

from typing import Protocol

from headrace.alerts.records import RenderedNotification
from headrace.plugins import Registry


class AlertChannel(Protocol):
    """Delivers notifications to the destinations whose URLs have one scheme."""

    def send(self, url: str, rendered: RenderedNotification) -> None:
        """Deliver a notification. url: the destination's, with secrets filled in. Raises NotDelivered.

        The same `notification_id` may come twice, when the sender dies before it notes the delivery.
        """
        ...


CHANNELS: Registry[AlertChannel] = Registry("headrace.alert_channels", "alert channel", {})
