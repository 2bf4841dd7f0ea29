"""`headrace sla`: SLA status, history and forecasts."""
