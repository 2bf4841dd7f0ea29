"""Datasets: the search, and the views and actions of one, a module for each subject."""

from fastapi import APIRouter

from headrace.pages.datasets import actions, columns, overview, search, versions

# The overview is last, because the address of every other view begins like its own.
_MODULES = (search, columns, versions, actions, overview)

router = APIRouter()
for module in _MODULES:
    router.include_router(module.router)
