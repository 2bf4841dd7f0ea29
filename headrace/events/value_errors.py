"""What a value may cause that nobody has thought of: its event is refused, and the others go on."""

import psycopg

VALUE_ERRORS = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.errors.ProgramLimitExceeded,
    ValueError,
    OverflowError,
    RecursionError,
)
