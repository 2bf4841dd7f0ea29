"""The catalog over HTTP: the API under /api/v1, and the pages.

`create_app` makes the application; `security` says who may what; there is a module of routes for each subject.
"""

from headrace.service.app import create_app

__all__ = ["create_app"]
