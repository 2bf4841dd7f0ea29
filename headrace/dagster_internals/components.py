"""The private names of Dagster's components and YAML that Headrace uses: reading and rendering declarations."""

import dagster as dg
from dagster.components.core.component_tree import ComponentTree
from dagster.components.core.context import ComponentDeclLoadContext, ComponentLoadContext
from dagster.components.core.decl import YamlDecl
from dagster.components.core.defs_module import ComponentPath
from dagster.components.resolved.core_models import post_process_defs
from dagster.components.resolved.errors import ResolutionException
from dagster.components.resolved.scopes import EnvScope
from dagster_shared.seven import load_module_object
from dagster_shared.yaml_utils import YAML_TIMESTAMP_TAG, _CanRemoveImplicitResolver
from dagster_shared.yaml_utils.source_position import (
    LineCol,
    SourcePosition,
    SourcePositionTree,
    ValueAndSourcePositionTree,
)

YamlResolver = _CanRemoveImplicitResolver

__all__ = [
    "YAML_TIMESTAMP_TAG",
    "ComponentDeclLoadContext",
    "ComponentLoadContext",
    "ComponentPath",
    "ComponentTree",
    "EnvScope",
    "LineCol",
    "ResolutionException",
    "SourcePosition",
    "SourcePositionTree",
    "ValueAndSourcePositionTree",
    "YamlDecl",
    "YamlResolver",
    "load_component",
    "load_module_object",
    "post_process_defs",
]


def load_component(declaration: YamlDecl) -> dg.Component:
    """Create the component of a declaration. Passes on its exceptions."""
    return declaration._load_component()
