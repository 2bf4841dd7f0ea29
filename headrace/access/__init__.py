"""Authentication and authorization: roles by organisation and domain, tokens, masking, the audit trail.

`callers` are the values, `authentication` makes one of what was sent along with a request, `acting` (one room up) keeps
PostgreSQL to the caller's rows, `reports` says whether an event may be reported, `masking` hides what the caller may
not see, `audit` keeps who changed and who read what. Knows nothing of HTTP: that is `headrace.service.security`.
"""
