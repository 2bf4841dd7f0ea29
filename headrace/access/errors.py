"""Errors of authentication; a known caller without a permission gets `headrace.errors.Forbidden`."""

from headrace.errors import CatalogError


class Unauthenticated(CatalogError):
    """No token, or an invalid, expired or revoked one. Over HTTP: 401 with `WWW-Authenticate: Bearer`."""

    failure_kind = "ACCESS"


class IssuerUnavailable(CatalogError):
    """The issuer of users' tokens is unavailable, so no user token can be verified. Over HTTP: 503."""

    failure_kind = "INFRASTRUCTURE"


class AccessRefused(CatalogError):
    """A grant or token cannot be issued or revoked as requested."""

    failure_kind = "ACCESS"
