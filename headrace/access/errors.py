"""Errors of authentication; a known caller without a permission gets `headrace.errors.Forbidden`."""

from headrace.errors import CatalogError


class Unauthenticated(CatalogError):
    """No token, or one that is wrong, expired or withdrawn. Over HTTP: 401 with `WWW-Authenticate: Bearer`."""

    failure_kind = "ACCESS"


class IssuerUnavailable(CatalogError):
    """The issuer of users' tokens does not answer, so that none can be checked. Over HTTP: 503."""

    failure_kind = "INFRASTRUCTURE"


class AccessRefused(CatalogError):
    """A grant or token that cannot be given, or taken away, as it was asked for."""

    failure_kind = "ACCESS"
