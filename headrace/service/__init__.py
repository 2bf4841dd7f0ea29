"""The HTTP service: the API under /api/v1, and the pages.

`create_app` creates the application, `security` authorizes requests, and there is a module of routes per subject.
"""

from headrace.service.app import create_app

__all__ = ["create_app"]
