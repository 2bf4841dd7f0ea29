"""The owners, tags, terms, domains and data products that declarations name, found there or made.

People and teams are the company's: they are found and never made. A tag `key: value` is the tag `key.value` of the
classification `key` if there is one (`Tier` for `tier`, the glossary's term for `glossary`), else `key=value` of the
classification `Headrace`, which is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.catalog.schema import SENSITIVE, is_sensitive_tag
from headrace.openmetadata import models
from headrace.openmetadata.client import Client, by_name
from headrace.openmetadata.names import below, entity_name, fqn
from headrace.openmetadata.state import PATHS, Kind

CLASSIFICATION = "Headrace"
TIER, GLOSSARY, DATA_PRODUCT = "tier", "glossary", "data_product"  # tags with a meaning of their own
PII = "PII.Sensitive"
_TIERS = {"1": "Tier1", "2": "Tier2", "3": "Tier3", "4": "Tier4", "5": "Tier5"}


@dataclass
class References:
    """Look-ups of one synchronisation, each made once.

    wanted: the entities to make, in order. problems: what declarations name and the server does not have.
    """

    client: Client
    wanted: dict[tuple[Kind, str], models.Named] = field(default_factory=dict)
    problems: set[str] = field(default_factory=set)
    _known: dict[tuple[str, str], dict[str, Any] | None] = field(default_factory=dict)

    def owners(self, owners: list[str]) -> tuple[models.Reference, ...]:
        """Return those of `team:name` and e-mail addresses that are there."""
        found = []
        for owner in owners:
            is_team = owner.startswith("team:")
            name = owner.removeprefix("team:") if is_team else owner.partition("@")[0]
            kind = "team" if is_team else "user"
            entity = self._find(f"{kind}s", fqn(name))
            if entity is None:
                self.problems.add(f"OpenMetadata has no {kind} {name!r}: the owner {owner} is left out")
            else:
                found.append(models.Reference(id=entity["id"], type=kind))
        return tuple(found)

    def labels(self, tags: dict[str, str]) -> tuple[models.Label, ...]:
        """Return the tags and terms of a dataset."""
        found = []
        for key, value in sorted(tags.items()):
            if key == DATA_PRODUCT:
                continue
            if key == GLOSSARY:
                if self._find("glossaryTerms", value) is None:
                    self.problems.add(f"OpenMetadata has no glossary term {value!r}: it is left out")
                else:
                    found.append(models.Label(tagFQN=value, source="Glossary"))
                continue
            found.append(models.Label(tagFQN=self._tag(key, value)))
        return tuple(found)

    def column_labels(self, tags: list[str], *, is_sensitive: bool) -> tuple[models.Label, ...]:
        """Return the tags of a column; a sensitive one has OpenMetadata's own."""
        is_tagged = any(map(is_sensitive_tag, tags))
        found = [models.Label(tagFQN=self._own(tag)) for tag in sorted(tags) if tag.lower() not in SENSITIVE]
        if is_tagged or is_sensitive:
            found.append(models.Label(tagFQN=PII, label_type="Automated" if is_tagged else "Derived"))
        return tuple(found)

    def domain(self, name: str) -> str:
        """Return the FQN of a domain, which is made if it is not there."""
        wanted = entity_name(name)
        self.wanted.setdefault(
            (Kind.DOMAIN, wanted), models.Domain(name=wanted, description=f"The domain `{name}` of Headrace.")
        )
        return fqn(wanted)

    def data_product(self, name: str, domain: str) -> str:
        """Return the FQN of a data product, which is made if it is not there."""
        wanted = entity_name(name)
        self.wanted.setdefault(
            (Kind.DATA_PRODUCT, wanted),
            models.DataProduct(name=wanted, description=f"The data product `{name}`.", domains=(domain,)),
        )
        return fqn(wanted)

    def _tag(self, key: str, value: str) -> str:
        candidates = [(key, value)]
        if key == TIER:
            candidates = [("Tier", _TIERS.get(value, value[:1].upper() + value[1:]))]
        for above, name in candidates:
            if (
                name
                and self._find(PATHS[Kind.CLASSIFICATION], fqn(above))
                and self._find("tags", fqn(above, name))
            ):
                return fqn(above, name)
        return self._own(f"{key}={value}" if value else key)

    def _own(self, tag: str) -> str:
        self.wanted.setdefault(
            (Kind.CLASSIFICATION, CLASSIFICATION),
            models.Classification(
                name=CLASSIFICATION, description="Tags of datasets that Headrace declares."
            ),
        )
        name = entity_name(tag)
        self.wanted.setdefault(
            (Kind.TAG, name),
            models.Tag(name=name, classification=CLASSIFICATION, description=f"`{tag}` in declarations."),
        )
        return below(CLASSIFICATION, name)

    def _find(self, path: str, name: str) -> dict[str, Any] | None:
        if (path, name) not in self._known:
            found = self.client.find(by_name(path, name))
            self._known[path, name] = found.entity if found else None
        return self._known[path, name]


def declared_tag(label: str) -> tuple[str, str]:
    """Return the key and value with which a declaration has a tag or term, by its FQN there."""
    above, _, name = label.partition(".")
    name = name.strip('"')
    if above == CLASSIFICATION:
        key, _, value = name.partition("=")
        return key, value
    return (TIER if above == "Tier" else above), name
