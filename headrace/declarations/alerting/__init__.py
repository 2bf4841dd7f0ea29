"""The rules of alerts.yaml: their schema, and the routes that they come to."""
