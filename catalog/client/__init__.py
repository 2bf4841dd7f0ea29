"""A typed client of the catalog's API: `Catalog(url, token)` has a method for each call, and raises `ApiError`.

`calls` is written from the API's own document by `python -m catalog.api.client_writing`; `transport` sends.
"""

from catalog.client.calls import Catalog
from catalog.client.transport import ApiError

__all__ = ["ApiError", "Catalog"]
