"""Policies: rules that declared datasets must meet, as CEL expressions in the project's `policies/` folder.

`rules.py` reads the files, `subjects.py` makes what rules see of a dataset, `evaluation.py` lets a process of its own
(`worker.py`) evaluate them, and `checking.py` and `cases.py` serve `headrace check` and `headrace policy test`.
"""
