"""Unforeseen errors caused by a value: its event is rejected, and the others continue."""

import psycopg

VALUE_ERRORS = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.errors.ProgramLimitExceeded,
    ValueError,
    OverflowError,
    RecursionError,
)
