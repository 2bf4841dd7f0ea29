"""Data contracts: declarations as documents of the Open Data Contract Standard and back, and pinned contracts.

A declaration's plan becomes `Terms`, which are written as a document, read from one, declared again, and compared.
The standard's library is imported where a document is written or read, so that no other command pays for it.
"""
