"""Acme's package as an installed one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.alerts.channels import CHANNELS
from headrace.checks.custom_checks import CHECKS
from headrace.exports.formats import FORMATS
from headrace.gates import GATES
from headrace.orchestration.event_sources import EVENT_SOURCES
from headrace.plugins import Registry
from headrace.stores.registry import STORES
from tests.paths import REPOSITORY

ENTRY_POINTS = """
[headrace.stores]
ledger = acme_headrace:LedgerType
views = acme_headrace:ViewsType
[headrace.checks]
even = acme_headrace:Even
[headrace.alert_channels]
pager = acme_headrace:Pager
[headrace.export_formats]
acme-csv = acme_headrace:Csv
[headrace.gates]
sealed = acme_headrace:Sealed
[headrace.event_sources]
semicolons = acme_headrace:Semicolons
"""


@contextmanager
def acme_installed(folder: Path) -> Iterator[None]:
    """Put the module and the metadata that pip writes into an import folder, for the block."""
    shutil.copy(REPOSITORY / "tests" / "platform" / "acme" / "acme_headrace.py", folder)
    metadata = folder / "acme_headrace-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-headrace\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    registries: list[Registry] = [STORES, CHECKS, CHANNELS, FORMATS, EVENT_SOURCES, GATES]
    sys.path.insert(0, str(folder))
    for registry in registries:
        registry.reload()
    yield
    sys.path.remove(str(folder))
    for registry in registries:
        registry.reload()
