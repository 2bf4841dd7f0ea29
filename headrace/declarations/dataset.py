"""The component types of a defs.yaml: Dataset, Process, ExternalDataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

import dagster as dg
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, create_model

from headrace.declarations.attributes import (
    ComputationAttributes,
    DescriptiveAttributes,
    ExecutionAttributes,
    External,
    ProcessOutput,
    Product,
)
from headrace.declarations.declaration import RunLimits
from headrace.declarations.definition import external_asset, process_assets
from headrace.declarations.planning import dataset_plan, external_plan, process_plan
from headrace.declarations.scaffold import DatasetScaffolder
from headrace.execution.plan import ExternalPlan, Plan, ProcessPlan
from headrace.sources.origin import FieldPath, Origin, in_python

_TEMPLATE = Annotated[
    str, Field(pattern=r"\{\{.*\}\}", description="A template, rendered when it is loaded.")
]


class DeclaredComponent(dg.Component, dg.Resolvable, dg.Model):
    """Base of the component types: attributes are rendered, then validated, with their places."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    _origin: Origin | None = PrivateAttr(default=None)

    @classmethod
    def model(cls) -> type[BaseModel]:
        """Return the YAML model: the attributes, each of which may be a template such as `{{ env.OWNER }}`."""
        return _yaml_model(cls)

    @classmethod
    def load(cls, attributes: BaseModel | None, context: dg.ComponentLoadContext) -> Self:
        """Load the component of a YAML document that Dagster has read."""
        written = attributes.model_dump(by_alias=True, exclude_unset=True) if attributes else {}
        positions = context.resolution_context.source_position_tree
        file = Path(positions.position.filename) if positions else context.path / "defs.yaml"

        def line_of(field: FieldPath) -> int:
            if positions is None:
                return 1
            return positions.lookup_closest_and_path(["attributes", *field], None)[0].start.line

        origin = Origin(file, context.project_root, line_of, lambda field: (line_of(field), 0))
        return cls.declared(context.resolution_context.resolve_value(written), origin)

    @classmethod
    def declared(cls, attributes: Any, origin: Origin) -> Self:  # noqa: ANN401
        """Return the component with these attributes, declared at `origin`. Raises pydantic.ValidationError."""
        component = cls.model_validate(attributes)
        component._origin = origin
        return component

    def plan(self, origin: Origin) -> Plan:
        """Build the plan of the declaration. Raises DeclarationError."""
        raise NotImplementedError

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Build Dagster's definitions of this declaration alone, without checking it against the others."""
        origin = self._origin or in_python(context.path / "defs.yaml", context.project_root, 1)
        return definitions_of(self.plan(origin))


@dg.scaffold_with(DatasetScaffolder)
class Dataset(DeclaredComponent, Product, ComputationAttributes):
    """A dataset computed by Spark from SQL or Python: versioned, checked, published."""

    def plan(self, origin: Origin) -> ProcessPlan:
        """Build the plan of the process that writes the dataset. Raises DeclarationError."""
        return dataset_plan(self, self, origin)


class Process(DeclaredComponent, DescriptiveAttributes, ExecutionAttributes):
    """Several datasets computed by Spark in one run."""

    outputs: Annotated[list[ProcessOutput], Field(min_length=1, description="The datasets that it writes.")]
    sla: Annotated[RunLimits | None, Field(description="SLA of its runs.")] = None

    def plan(self, origin: Origin) -> ProcessPlan:
        """Build the plan of the process. Raises DeclarationError."""
        return process_plan(self, self.outputs, self, origin, self.sla)


class ExternalDataset(DeclaredComponent, External):
    """A dataset written by another system, with its location and format."""

    def plan(self, origin: Origin) -> ExternalPlan:
        """Build the plan of the dataset. Raises DeclarationError."""
        return external_plan(self, origin)


def definitions_of(*plans: Plan) -> dg.Definitions:
    """Build Dagster's definitions of some plans."""
    return dg.Definitions(
        assets=[
            process_assets(plan) if isinstance(plan, ProcessPlan) else external_asset(plan) for plan in plans
        ]
    )


_YAML_MODELS: dict[type[DeclaredComponent], type[BaseModel]] = {}


def _yaml_model(component: type[DeclaredComponent]) -> type[BaseModel]:
    if component not in _YAML_MODELS:
        fields: dict[str, Any] = {
            name: (Annotated[info.rebuild_annotation() | _TEMPLATE, info], info)
            for name, info in component.model_fields.items()
        }
        _YAML_MODELS[component] = create_model(
            component.__name__, __doc__=component.__doc__, __config__=component.model_config, **fields
        )
    return _YAML_MODELS[component]
