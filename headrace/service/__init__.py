"""The HTTP service: the API (`headrace.api`), the pages (`headrace.pages`), and what surrounds both (`headrace.http`).

`create_app` creates the application; `server` runs it.
"""

from headrace.service.app import create_app

__all__ = ["create_app"]
