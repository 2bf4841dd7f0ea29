"""Alerts: turn alert events into notifications, route them, send them, and track acknowledgement.

`outbox.decide_next` turns alert events into alerts and notifications, `sending.send_due` sends those that are due. The
logic (`rules`, `decisions`, `limits`, `wording`) is pure; only `delivery` knows the services that carry notifications.
"""
