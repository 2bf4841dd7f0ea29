"""A typed client of the catalog's API: `Catalog(url, token)` has a method for each call, and raises `ApiError`.

`calls` is written from the API's own document by `python -m headrace.service.client_generator`; `transport` sends.
"""

from headrace.client.calls import Catalog
from headrace.client.transport import ApiError

__all__ = ["ApiError", "Catalog"]
