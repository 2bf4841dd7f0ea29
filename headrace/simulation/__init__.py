"""A simulation of an estate: when each job starts and ends, why, and what would change if something went otherwise.

Everything here is a pure function of its input: no database, and no clock of its own. `play` plays a period,
`next_run_of` the next run of one job.
"""
