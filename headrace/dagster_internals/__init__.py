"""The private names of Dagster that Headrace uses, in one place to check on upgrades.

Dagster's version is pinned exactly because of them; ruff refuses them elsewhere. Those of its storage are in `storage`,
since they import SQLAlchemy and Alembic, which loading declarations does not need; those of components in `components`.
"""

from dagster._core.definitions.asset_selection import DagsterInvalidAssetSelectionError
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph
from dagster._core.definitions.data_version import (
    CODE_VERSION_TAG,
    DATA_VERSION_TAG,
    get_input_data_version_tag,
)
from dagster._core.definitions.freshness import FreshnessPolicy
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.partitions.utils.mapping import infer_partition_mapping
from dagster._core.definitions.utils import is_valid_owner
from dagster._core.instance.types import DynamicPartitionsStore
from dagster._core.storage.dagster_run import FINISHED_STATUSES
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    GRPC_INFO_TAG,
    MAX_RETRIES_TAG,
    PARTITION_NAME_TAG,
    ROOT_RUN_ID_TAG,
)
from dagster._utils.schedules import (
    cron_string_iterator,
    get_smallest_cron_interval,
    is_valid_cron_schedule,
)
from dagster._utils.tags import normalize_tags
from dagster._utils.warnings import disable_dagster_warnings

__all__ = [
    "ASSET_PARTITION_RANGE_END_TAG",
    "ASSET_PARTITION_RANGE_START_TAG",
    "CODE_VERSION_TAG",
    "DATA_VERSION_TAG",
    "FINISHED_STATUSES",
    "GRPC_INFO_TAG",
    "MAX_RETRIES_TAG",
    "PARTITION_NAME_TAG",
    "ROOT_RUN_ID_TAG",
    "BaseAssetGraph",
    "DagsterInvalidAssetSelectionError",
    "DynamicPartitionsStore",
    "FreshnessPolicy",
    "cron_string_iterator",
    "disable_dagster_warnings",
    "get_input_data_version_tag",
    "get_smallest_cron_interval",
    "infer_partition_mapping",
    "is_valid_cron_schedule",
    "is_valid_owner",
    "normalize_tags",
    "partition_loading_context",
]
