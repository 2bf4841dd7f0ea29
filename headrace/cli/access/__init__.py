"""`headrace access`: roles, grants, tokens, audit trail."""
