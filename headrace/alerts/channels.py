"""Alert channels of other packages, one per URL scheme, in addition to those of apprise."""

from __future__ import annotations

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
