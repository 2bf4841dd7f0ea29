"""Alerts: turn alert events into notifications, route them, send them, and track acknowledgement.

`outbox.decide_next` makes alerts and messages of happenings, `sending.send_due` sends what is due. What decides
(`rules`, `deciding`, `limits`, `wording`) is pure; `delivery` alone knows the services that carry messages.
"""
