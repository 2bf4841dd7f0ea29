"""Alerts: who is told of what happened, when, and whether he has heard.

`outbox.decide_next` makes alerts and messages of happenings, `sending.send_due` sends what is due. What decides
(`rules`, `deciding`, `limits`, `wording`) is pure; `delivery` alone knows the services that carry messages.
"""
