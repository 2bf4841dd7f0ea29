"""JIL, the language of Autosys: bytes to statements, and back.

Nothing makes a whole file unreadable: a statement that cannot be parsed is a finding with its line, and the rest is
read.
"""

from headrace.autosys.jil.scanner import read, scan
from headrace.autosys.jil.statements import Attribute, Jil, Statement
from headrace.autosys.jil.writer import UnwritableError, write

__all__ = ["Attribute", "Jil", "Statement", "UnwritableError", "read", "scan", "write"]
