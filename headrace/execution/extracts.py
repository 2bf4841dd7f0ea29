"""Write versions for other systems as well, in formats that Spark does not write, by a project's own function.

An extract is a fresh folder `<location>/<tag>`. It is complete when it contains `manifest.json`, which is written when
its version has been published: a killed, failed or overtaken run leaves a folder that readers do not see.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from headrace.catalog.records import CheckStatus, Version
from headrace.context import current_context
from headrace.execution.plan import PARTITION, ExtractPlan, OutputPlan
from headrace.execution.writing import EXTRACT_LOCATION, unpublished
from headrace.files.filesystem import Files, is_local, local_path
from headrace.files.opening import files_for
from headrace.spark.errors import UnusableFunction
from headrace.spark.project_functions import project_function
from headrace.stores.protocol import Store
from headrace.stores.writes import WrittenVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Writer = Callable[[DataFrame, str, Mapping[str, str]], Mapping[str, Any] | None]

_MANIFEST = "manifest.json"
_DRAFT = "_manifest.json"  # not complete until its version is published
_BLOCK = 1 << 20


def write_extracts(
    session: SparkSession, output: OutputPlan, tag: str, written: Sequence[WrittenVersion], store: Store
) -> dict[str | None, str]:
    """Write an extract of each version that may be published; returns their locations by partition.

    Exceptions of the writer are passed on, with a note. Raises UnusableFunction if it is not a function or writes
    nothing, StoreUnavailable.
    """
    extract = output.extract
    if extract is None:
        return {}
    return {
        each.partition: _write(session, extract, unpublished(output, tag, each), store)
        for each in written
        if all(check.status is not CheckStatus.FAIL for check in each.check_results)
    }


def complete_extracts(session: SparkSession, published: Sequence[Version]) -> None:
    """Write the manifests of published versions. A repetition changes nothing. Raises StoreUnavailable."""
    for version in published:
        folder = version.metadata.get(EXTRACT_LOCATION)
        if folder is None:
            continue
        files = files_for(folder, session)
        draft = files.read_text(f"{folder}/{_DRAFT}")
        if draft is not None:
            earlier = files.read_text(f"{folder}/{_MANIFEST}")
            files.replace_text(f"{folder}/{_MANIFEST}", draft.text, earlier)
            files.delete(f"{folder}/{_DRAFT}")


def _write(session: SparkSession, extract: ExtractPlan, version: Version, store: Store) -> str:
    base = extract.location.replace(PARTITION, version.partition or "").rstrip("/")
    if is_local(base):
        base = f"file://{current_context().settings.home.resolve() / local_path(base)}"
    folder = f"{base}/{version.tag}"
    files = files_for(folder, session)
    write = cast("Writer", project_function(extract.writer))
    files.make_directory(folder)
    try:
        totals = write(store.read([version]), folder, extract.options)
    except Exception as error:
        error.add_note(f"in {extract.writer}, which writes the extract of {version.dataset} to {folder}")
        raise
    content = json.dumps(_manifest(files, folder, version, totals, extract), indent=2, default=str)
    files.sync(folder)
    files.replace_text(f"{folder}/{_DRAFT}", f"{content}\n", None)
    return folder


def _manifest(
    files: Files, folder: str, version: Version, totals: object, extract: ExtractPlan
) -> dict[str, Any]:
    stored = files.data_files(folder)
    if not stored:
        raise UnusableFunction(
            f"{extract.writer} wrote no files. Let it write them below its second argument."
        )
    if totals is not None and not isinstance(totals, Mapping):
        raise UnusableFunction(
            f"{extract.writer} returned {type(totals).__name__}. Return control totals by name."
        )
    return {
        "dataset": version.dataset,
        "partition": version.partition,
        "version": version.tag,
        "rows": version.row_count,
        "files": [
            {"name": file.name, "bytes": file.byte_size, "sha256": _sha256(files, file.path)}
            for file in stored
        ],
        "totals": dict(totals or {}),
    }


def _sha256(files: Files, path: str) -> str:
    digest = hashlib.sha256()
    with files.open(path) as source:
        while block := source.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
