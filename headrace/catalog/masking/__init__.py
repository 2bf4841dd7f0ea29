"""Hide from a caller what they may not read, when rows are made for them.

`rows` reads how sensitive each field is from its type (`access.sensitivity`); `foreign` knows the fields of OpenLineage
facets and of free metadata by name; `policy` decides by the caller's permissions and the dataset's sensitive columns.
JSON, pages and messages are made from the rows that `visible` returns, so they cannot differ.
"""

from headrace.catalog.masking.rows import undeclared_fields, visible

__all__ = ["undeclared_fields", "visible"]
