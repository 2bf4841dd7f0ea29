"""JSON parameters of statements, redacted.

Apart from `redaction`, so that loading declarations, which redacts too, does not import the database driver.
"""

from psycopg.types.json import Jsonb
from pydantic_core import from_json

from headrace.access.redaction import has_secrets, scrubbed
from headrace.database.jsonb import encoded


def jsonb_without_secrets(value: object) -> Jsonb:
    """Return a psycopg parameter of type jsonb, redacted: what is not stored cannot be shown, or found by a search."""
    text = encoded(value)
    if has_secrets(text.decode()):
        text = encoded(scrubbed(from_json(text)))
    return Jsonb(text, dumps=bytes)
