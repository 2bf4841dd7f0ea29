"""Authentication and authorization: roles by organisation and domain, tokens, redaction, the audit trail.

`callers` has the values, `authentication` turns the token of a request into a caller, `audit` records changes and reads
of sensitive data. Independent of HTTP, which is the responsibility of `headrace.http.security`.
"""
