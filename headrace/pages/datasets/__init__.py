"""Datasets: the search, and the views and actions of one, a module for each subject."""

from fastapi import APIRouter

from headrace.pages.datasets import actions, columns, overview, search, versions

router = APIRouter()
for module in (
    search,
    columns,
    versions,
    overview,
    actions,
):  # the overview last: its address begins all others
    router.include_router(module.router)
