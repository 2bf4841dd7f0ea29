"""What a run needs: a Spark session, and the store that writes, audits and reads dataset versions.

Import the parts from their modules; nothing is imported here, so that loading declarations stays free of
Spark and pandera.
"""
