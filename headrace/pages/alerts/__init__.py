"""Alerts and incidents: lists, the page of one (`alerts`, `incidents`), and the page behind a notification's link."""
