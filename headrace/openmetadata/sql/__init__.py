"""The statements of this package."""

from headrace.database.sql import Statements

statement = Statements(__name__)
