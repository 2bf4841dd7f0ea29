"""Statements of `headrace.estates`, one a file, with named parameters: %(name)s."""

from headrace.database.sql import Statements

statement = Statements(__name__)
