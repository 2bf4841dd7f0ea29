"""The catalog over HTTP: what programs and pages ask of it, and report to it, under /api/v1.

`create_app` makes the application; `security` says who may what; there is a module of routes for each subject.
"""

from headrace.service.app import create_app

__all__ = ["create_app"]
