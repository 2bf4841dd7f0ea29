"""Policies: rules that datasets must meet, as CEL expressions in the project's `policies/` folder.

`rules.py` reads the files, `subjects.py` makes what rules see of a dataset, and `evaluation.py` lets a process of its
own (`process.py`, `worker.py`) evaluate them. `checking.py` and `cases.py` serve `headrace check` and `headrace policy
test`; `gate.py` is where events, registrations and versions come in.
"""
