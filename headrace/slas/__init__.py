"""SLAs: objectives of datasets and processes, their evaluation, forecasts, and incidents with causes.

`tick.evaluate(engine, now)` evaluates all objectives; everything else is a value, a query or a pure function.
"""
