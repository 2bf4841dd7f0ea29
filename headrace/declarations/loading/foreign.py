"""Dagster's own components: templates, and components of other libraries."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any, cast

import dagster as dg

from headrace.dagster_internals.components import (
    ComponentDeclLoadContext,
    ComponentLoadContext,
    ComponentPath,
    ComponentTree,
    EnvScope,
    ResolutionException,
    ValueAndSourcePositionTree,
    YamlDecl,
    load_component,
    post_process_defs,
)
from headrace.sources.documents import Document


def render(attributes: Any, root: Path) -> Any:  # noqa: ANN401
    """Render the templates (`{{ env.OWNER }}`) in the attributes with Dagster.

    Raises ResolutionException for an environment variable that is not set, which Dagster renders as None.
    """
    context = _context(root).resolution_context.with_scope(env=_Environment())
    return context.resolve_value(attributes)


class _Environment(EnvScope):
    """Environment variables in templates; one that is not set is an error."""

    def __getattr__(self, key: str) -> str | None:
        if key.startswith(("_", "jinja")):  # asked by jinja of every object
            raise AttributeError(key)
        if key not in os.environ:
            raise ResolutionException(
                f"the environment variable {key} is not set; set it, or give a default: env('{key}', 'default')"
            )
        return os.environ[key]


def build(document: Document, root: Path) -> dg.Definitions:
    """Build the definitions of a component that is not Headrace's. Passes on its exceptions."""
    place = ComponentPath.from_path(document.file.parent, document.lines_before)
    context = _context(root).for_component_loc(place)
    tree = ValueAndSourcePositionTree(document.value, document.tree())
    declaration = YamlDecl.from_source_tree(context, tree, place)
    component = load_component(declaration)
    definitions = component.build_defs(ComponentLoadContext.from_decl_load_context(context, declaration))
    return cast(
        "dg.Definitions", post_process_defs(definitions, declaration.get_asset_post_processor_lists())
    )


def _context(root: Path) -> ComponentDeclLoadContext:
    module = sys.modules.get("assets") or importlib.import_module("assets")
    return ComponentTree.from_module(defs_module=module, project_root=root).decl_load_context
