"""Launch runs and backfills in Dagster, through the GraphQL interface of its webserver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from headrace.http.problems import RequestRefused
from headrace.outgoing import NoAnswer, fetch

_ANSWER_SECONDS = 30  # a launch waits for the code location
_PARTITION = "dagster/partition"
_LAUNCHED_BY = "user"  # the tag that Dagster's UI shows with a run
_ASSET = """
query ($key: AssetKeyInput!) {
  assetNodeOrError(assetKey: $key) {
    ... on AssetNode { isMaterializable isPartitioned partitionKeys jobNames repository { name location { name } } }
  }
}
"""
_PRODUCED_WITH = """
query ($keys: [AssetKeyInput!]!) { assetNodeAdditionalRequiredKeys(assetKeys: $keys) { path } }
"""
_LAUNCH_RUN = """
mutation ($params: ExecutionParams!) {
  launchRun(executionParams: $params) { __typename ... on LaunchRunSuccess { run { runId } } ... on Error { message } }
}
"""
_LAUNCH_BACKFILL = """
mutation ($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on Error { message }
  }
}
"""


@dataclass(frozen=True, slots=True)
class Asset:
    """A dataset as Dagster knows it. datasets: itself, and those that are always produced with it."""

    datasets: tuple[str, ...]
    partitions: tuple[str, ...] | None
    repository: str
    location: str
    job: str


@dataclass(frozen=True, slots=True)
class Launch:
    """A launched run, or a launched backfill, and its page in Dagster."""

    run_id: str | None
    backfill_id: str | None
    url: str


class Dagster:
    """The Dagster whose pages are at `url`, and its GraphQL interface at `api_url`.

    Raises RequestRefused wherever it cannot be reached or refuses.
    """

    def __init__(self, url: str, api_url: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._api_url = (api_url or url).rstrip("/")

    def asset(self, dataset: str) -> Asset:
        """Return the asset of a dataset that Dagster computes."""
        key = {"path": dataset.split("/")}
        found = self._ask(_ASSET, key=key)["assetNodeOrError"]
        if not found.get("isMaterializable"):
            raise RequestRefused(
                HTTPStatus.CONFLICT,
                f"Dagster does not compute {dataset}: another system writes it, or another project "
                "declares it",
            )
        others = self._ask(_PRODUCED_WITH, keys=[key])["assetNodeAdditionalRequiredKeys"]
        return Asset(
            datasets=(dataset, *("/".join(each["path"]) for each in others)),
            partitions=tuple(found["partitionKeys"]) if found["isPartitioned"] else None,
            repository=found["repository"]["name"],
            location=found["repository"]["location"]["name"],
            job=next(name for name in found["jobNames"] if name.startswith("__ASSET_JOB")),
        )

    def launch_run(self, asset: Asset, partition: str | None, by: str) -> Launch:
        """Launch a run that materializes the asset, or one partition of it."""
        partitions = {} if partition is None else {_PARTITION: partition}
        params = {
            "selector": {
                "jobName": asset.job,
                "repositoryName": asset.repository,
                "repositoryLocationName": asset.location,
                "assetSelection": _keys(asset),
            },
            "executionMetadata": {"tags": _tags({_LAUNCHED_BY: by, **partitions})},
        }
        run_id = self._launch(_LAUNCH_RUN, "launchRun", params)["run"]["runId"]
        return Launch(run_id, None, self.url_of_run(run_id))

    def launch_backfill(self, asset: Asset, partitions: Sequence[str], by: str) -> Launch:
        """Launch a backfill of these partitions."""
        params = {
            "assetSelection": _keys(asset),
            "partitionNames": list(partitions),
            "title": f"{asset.datasets[0]}, by {by}"[:100],
            "tags": _tags({_LAUNCHED_BY: by}),
        }
        backfill_id = self._launch(_LAUNCH_BACKFILL, "launchPartitionBackfill", params)["backfillId"]
        return Launch(None, backfill_id, self.url_of_backfill(backfill_id))

    def url_of_run(self, run_id: str) -> str:
        """Return the page of a run in Dagster."""
        return f"{self._url}/runs/{quote(run_id)}"

    def url_of_backfill(self, backfill_id: str) -> str:
        """Return the page of a backfill in Dagster."""
        return f"{self._url}/runs/b/{quote(backfill_id)}"

    def _launch(self, mutation: str, name: str, params: object) -> dict[str, Any]:
        result: dict[str, Any] = self._ask(mutation, params=params)[name]
        if "message" in result or not result["__typename"].endswith("Success"):
            reason = str(result.get("message", result["__typename"])).strip().splitlines()[0]
            raise RequestRefused(HTTPStatus.CONFLICT, f"Dagster did not launch it: {reason[:500]}")
        return result

    def _ask(self, query: str, **variables: object) -> dict[str, Any]:
        try:
            answer = fetch(
                "POST",
                f"{self._api_url}/graphql",
                content={"query": query, "variables": variables},
                seconds=_ANSWER_SECONDS,
                trust_env=False,
            )
            answer.require_success()
            data: dict[str, Any] | None = answer.json().get("data")
        except (NoAnswer, ValueError, AttributeError) as error:
            raise RequestRefused(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"Dagster at {self._api_url} does not answer: start it (`headrace up`), or correct the setting "
                "dagster_api_url",
            ) from error
        if data is None:
            raise RequestRefused(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"Dagster at {self._api_url} cannot answer: is its version the one that Headrace requires?",
            )
        return data


def _keys(asset: Asset) -> list[dict[str, list[str]]]:
    return [{"path": key.split("/")} for key in asset.datasets]


def _tags(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in tags.items()]
