"""SQL of `headrace.queries`, one statement per file, with named parameters: %(name)s."""

from headrace.database.sql import Statements

statement = Statements(__name__)
