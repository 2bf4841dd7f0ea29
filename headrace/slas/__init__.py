"""SLAs: promises about datasets and processes, how they are kept, what is to be expected, and who waits for whom.

`tick.evaluate(engine, now)` judges all promises; everything else is a value, a query or a pure function.
"""
