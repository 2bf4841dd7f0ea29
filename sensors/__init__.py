"""The sensors that this project runs: the platform's, over its own datasets."""

from headrace.orchestration.sensors import sensors

__all__ = ["sensors"]
