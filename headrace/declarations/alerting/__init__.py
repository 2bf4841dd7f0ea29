"""The rules of alerts.yaml: their schema, and the routes built from them."""
