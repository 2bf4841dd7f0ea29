"""What is published at the moment, as a run or a plan of runs needs to know it."""

from collections.abc import Sequence

from sqlalchemy import Engine

from catalog import versions
from catalog.database import transaction
from catalog.identity import organisation_id
from catalog.records import Version

_NEWEST = """
SELECT pointer.dataset_version_id
FROM catalog.published_pointer pointer
JOIN catalog.dataset USING (dataset_id)
WHERE dataset.organisation_id = %s AND dataset.full_name = %s AND pointer.generation > 0
ORDER BY pointer.moved_at DESC, pointer.partition_key DESC
LIMIT 1
"""
_FINGERPRINTS = """
SELECT dataset.full_name, pointer.partition_key, version.fingerprint
FROM catalog.published_pointer pointer
JOIN catalog.dataset USING (dataset_id)
JOIN catalog.dataset_version version USING (dataset_version_id)
WHERE dataset.organisation_id = %s AND dataset.full_name = ANY (%s)
"""


def newest(engine: Engine, dataset: str) -> Version | None:
    """The version that was published last, whatever its partition; None where nothing is published."""
    with transaction(engine) as cursor:
        row = cursor.execute(_NEWEST, [organisation_id(), dataset]).fetchone()
        if row is None:
            return None
        return versions.by_ids(cursor, [row["dataset_version_id"]])[row["dataset_version_id"]]


def fingerprints(engine: Engine, datasets: Sequence[str]) -> dict[tuple[str, str | None], str | None]:
    """The fingerprint of each published version of these datasets, by dataset and partition."""
    with transaction(engine) as cursor:
        rows = cursor.execute(_FINGERPRINTS, [organisation_id(), list(datasets)]).fetchall()
    return {(row["full_name"], row["partition_key"] or None): row["fingerprint"] for row in rows}
