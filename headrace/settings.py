"""What an operator may set: where state lives, which database, which warehouse, which Spark.

Read from the `headrace.toml` of the project and from HEADRACE_* environment variables (which win), for example
HEADRACE_DATABASE_URL or HEADRACE_SPARK__MASTER; an empty one counts as not set. Every room reads its settings here and
nowhere else.
"""

import json
import os
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from headrace.project import PROJECT_FILE, project_root

_JSON_VARIABLES = {
    "HEADRACE_SPARK": """object: write it as in HEADRACE_SPARK='{"master": "local[2]"}'""",
    "HEADRACE_ACCESS": """object: write it as in HEADRACE_ACCESS='{"issuer": "https://login.example.com"}'""",
    "HEADRACE_NEO4J": """object: write it as in HEADRACE_NEO4J='{"uri": "bolt://graph.example.com:7687"}'""",
    "HEADRACE_SPARK__CONF": """object: write it as in HEADRACE_SPARK__CONF='{"spark.sql.shuffle.partitions": "8"}'""",
    "HEADRACE_COMPLETION_NAMES": r"""list: write it as in HEADRACE_COMPLETION_NAMES='["(?P<process>\\w+)[.]end"]'""",
}


class WrongVariable(Exception):
    """An environment variable that is not written as it has to be; the message names it."""


class SparkSettings(BaseModel):
    """Where Spark runs. `remote` (a Spark Connect address, sc://host:port) takes the place of `master` when set."""

    model_config = ConfigDict(extra="forbid")

    master: str = "local[*]"
    remote: str | None = None
    conf: dict[str, str] = Field(default_factory=dict)


class AccessSettings(BaseModel):
    """Who says who a user is: an OpenID Connect issuer (https), the audience of its tokens, and where its keys are.

    Without `jwks`, the issuer's discovery document says where. Without an issuer no user's token is taken, except on a
    machine that is not in production, where Headrace issues them itself.
    """

    model_config = ConfigDict(extra="forbid")

    issuer: str | None = None
    audience: str = "headrace"
    jwks: str | None = None


class Neo4jSettings(BaseModel):
    """The Neo4j that has a copy of the lineage graph (bolt://host:7687, or neo4j://); without `uri` there is none.

    database: one of that server's; None is its default.
    """

    model_config = ConfigDict(extra="forbid")

    uri: str | None = None
    user: str = "neo4j"
    password: SecretStr = SecretStr("")
    database: str | None = None


class Settings(BaseSettings):
    """The settings of one deployment.

    project: the name of this project; None means the name of its folder.
    home: folder for everything Headrace keeps on this machine (embedded PostgreSQL, Dagster's logs, default warehouse).
    database_url: a PostgreSQL URL (postgresql://user:password@host/db); None starts the embedded server in `home`.
    warehouse: a Hadoop filesystem URI under which versions are written; None means `home`/warehouse.
    completions: the folder, or any fsspec URI, where completion files are dropped; None means `home`/completions.
    completion_names: regular expressions that say what the names of such files mean, by named groups (process, run,
    date, ...), tried before the built-in one. completions_zone: the zone of times in them that name none.
    completions_interval: seconds between two looks.
    archive: the folder, or any fsspec URI, where runs and events go that are older than 90 days; None means
    `home`/archive. Each database has its own.
    requests_per_second: how often one caller may ask the catalog's API.
    service_url: the address of this project's HTTP service, which runs and alert links use; `headrace up` sets it.
    lineage_database_url: a database with a copy of the OL_* tables (postgresql://, db2:// or teradatasql://).
    alert_secret: what the links in alerts are signed with, 32 characters or more, the same on every machine; None means
    a key in `home`, and in production that alerts carry no such links.
    production: whether this deployment takes no tokens but those of its issuer; None means: if it has a database_url.
    """

    model_config = SettingsConfigDict(
        env_prefix="HEADRACE_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
    )

    project: str | None = None
    home: Path = Field(default_factory=lambda: project_root() / ".headrace")
    database_url: str | None = None
    warehouse: str | None = None
    organisation: str = "default"
    completions: str | None = None
    completion_names: tuple[str, ...] = ()
    completions_zone: ZoneInfo = ZoneInfo("UTC")
    completions_interval: int = Field(default=5, ge=1)
    archive: str | None = None
    requests_per_second: int = Field(default=1000, ge=1)
    service_url: str = "http://127.0.0.1:3200"
    alert_secret: SecretStr | None = Field(default=None, min_length=32)
    production: bool | None = None
    access: AccessSettings = AccessSettings()
    spark: SparkSettings = SparkSettings()
    lineage_database_url: SecretStr | None = None
    neo4j: Neo4jSettings = Neo4jSettings()

    @property
    def project_name(self) -> str:
        """The name of this project."""
        return self.project or project_root().name

    @property
    def warehouse_uri(self) -> str:
        """The warehouse as a URI without a trailing slash."""
        return (self.warehouse or (self.home.resolve() / "warehouse").as_uri()).rstrip("/")

    @property
    def completions_location(self) -> str:
        """Where completion files are dropped: a path of this machine, or a URI."""
        return (self.completions or str(self.home.resolve() / "completions")).rstrip("/")

    @property
    def archive_location(self) -> str:
        """Where old runs and events are kept: a path of this machine, or a URI."""
        return (self.archive or str(self.home.resolve() / "archive")).rstrip("/")

    @property
    def is_production(self) -> bool:
        """Whether this deployment takes no tokens but those of its issuer."""
        return self.database_url is not None if self.production is None else self.production

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over the environment, and the environment over headrace.toml."""
        return (
            init_settings,
            env_settings,
            TomlConfigSettingsSource(settings_cls, project_root() / PROJECT_FILE),
        )


@cache
def settings() -> Settings:
    """The settings of this process, read once.

    Raises pydantic.ValidationError naming the field when headrace.toml or the environment has a wrong value,
    WrongVariable when an environment variable that has to be JSON is not.
    """
    try:
        return Settings()
    except SettingsError as error:
        broken = [name for name in sorted(os.environ) if _is_broken_json(name)]
        said = "\n".join(f"{name} is no JSON {_JSON_VARIABLES[name.upper()]}" for name in broken)
        raise WrongVariable(said or str(error)) from error


def _is_broken_json(name: str) -> bool:
    """Whether the variable has to be JSON and is not."""
    if name.upper() not in _JSON_VARIABLES:
        return False
    try:
        json.loads(os.environ[name])
    except ValueError:
        return True
    return False
