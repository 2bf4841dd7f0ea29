"""Synchronisation with OpenMetadata, both ways.

Out: `catalog` reads what changed, `mapping` says what should be there, `merging` and `lineage` compare that with what
was sent and what is there now, and `synchronisation` sends the difference, so that it can stop anywhere and continue.
In: `incoming` reads what stewards wrote there, which is shown as proposed changes of declarations.
"""
