"""Settings: state folder, database, warehouse, Spark.

Read from the project's `headrace.toml` and from HEADRACE_* environment variables (which take precedence), for example
HEADRACE_DATABASE_URL or HEADRACE_SPARK__MASTER; an empty variable counts as not set. All packages read their settings
here.
"""

import json
import os
import re
from collections.abc import Callable
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Annotated, Any, Literal, Self
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
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
    "HEADRACE_CONNECTIONS": """object: set single fields as in HEADRACE_CONNECTIONS__CRM__PASSWORD""",
    "HEADRACE_NEO4J": """object: write it as in HEADRACE_NEO4J='{"uri": "bolt://graph.example.com:7687"}'""",
    "HEADRACE_OPENMETADATA": """object: write it as in HEADRACE_OPENMETADATA='{"url": "https://metadata.example.com/api"}'""",
    "HEADRACE_OPENMETADATA__FIELDS": """object: write it as in HEADRACE_OPENMETADATA__FIELDS='{"owners": "steward"}'""",
    "HEADRACE_SPARK__CONF": """object: write it as in HEADRACE_SPARK__CONF='{"spark.sql.shuffle.partitions": "8"}'""",
    "HEADRACE_LOG_FOLDERS": """list: write it as in HEADRACE_LOG_FOLDERS='["/var/log/autosys"]'""",
    "HEADRACE_COMPLETION_NAMES": r"""list: write it as in HEADRACE_COMPLETION_NAMES='["(?P<process>\\w+)[.]end"]'""",
}


# Variables that are not settings: the project, what a run passes to its child processes, the client of old hosts, and a
# marker of `headrace up`.
_OTHER_VARIABLES = frozenset(
    {
        "HEADRACE_PROJECT",
        "HEADRACE_URL",
        "HEADRACE_TOKEN",
        "HEADRACE_RUN_ID",
        "HEADRACE_PROCESS",
        "HEADRACE_SPOOL",
        "HEADRACE_TIMEOUT",
        "HEADRACE_SERVED_FROM",
    }
)


# In a JDBC URL: a parameter, or Oracle's user/password@ and others' user:password@.
_PASSWORD = re.compile(r"(?:password|pwd)\w*\s*=|:[^/@;?]+/[^/@;?]+@|//[^/@;?]*:[^/@;?]*@", re.IGNORECASE)
_SECRET = re.compile(r"password|passwd|pwd|secret|token", re.IGNORECASE)


class WrongSettingsFile(Exception):
    """A headrace.toml that cannot be parsed; the message names it and the place."""


class WrongVariable(Exception):
    """An environment variable that is misspelt or invalid; the message names it."""


class SparkSettings(BaseModel):
    """The Spark cluster."""

    model_config = ConfigDict(extra="forbid")

    master: str = Field(
        default="local[*]", description="The Spark master: `local[*]`, `spark://...`, `yarn`."
    )
    remote: str | None = Field(
        default=None, description="A Spark Connect address (`sc://host:port`), used in place of `master`."
    )
    conf: dict[str, str] = Field(default_factory=dict, description="Additional Spark settings, by name.")


class AccessSettings(BaseModel):
    """The OpenID Connect issuer of users' tokens.

    Without an issuer no user token is accepted, except in development, where Headrace issues them itself.
    """

    model_config = ConfigDict(extra="forbid")

    issuer: str | None = Field(default=None, description="The https URL of the OpenID Connect issuer.")
    audience: str = Field(default="headrace", description="The audience that a user's token must have.")
    jwks: str | None = Field(
        default=None, description="The URL of the issuer's keys, if its discovery document has none."
    )
    client_id: str = Field(
        default="headrace", description="The client as which the pages sign users in at the issuer."
    )
    client_secret: SecretStr | None = Field(
        default=None, description="The secret of that client, if it is not a public one; set the variable."
    )


class Neo4jSettings(BaseModel):
    """The Neo4j database for a copy of the lineage graph; unused without `uri`."""

    model_config = ConfigDict(extra="forbid")

    uri: str | None = Field(default=None, description="`bolt://host:7687` or `neo4j://host:7687`.")
    user: str = Field(default="neo4j", description="The user to connect as.")
    password: SecretStr = Field(default=SecretStr(""), description="The user's password; set the variable.")
    database: str | None = Field(
        default=None, description="The database on that server; its default if unset."
    )


class JanusGraphSettings(BaseModel):
    """The JanusGraph server for a copy of the lineage graph; unused without `uri`."""

    model_config = ConfigDict(extra="forbid")

    uri: str | None = Field(default=None, description="`ws://host:8182/gremlin` or `wss://...`.")
    user: str = Field(default="", description="The user to connect as, if the server asks.")
    password: SecretStr = Field(default=SecretStr(""), description="The user's password; set the variable.")
    traversal_source: str = Field(
        default="g", description="The traversal source of the graph on that server."
    )


class DataHubSettings(BaseModel):
    """The DataHub to which lineage is sent; unused without `url`."""

    model_config = ConfigDict(extra="forbid")

    url: str | None = Field(
        default=None,
        description="Of its metadata service: `https://host:8080`, or `https://host/api/gms` of its frontend.",
    )
    token: SecretStr | None = Field(default=None, description="A personal access token; set the variable.")


class Winner(StrEnum):
    """The side whose value of a field stays, where both have one."""

    DECLARED = "declared"
    STEWARD = "steward"


class OpenMetadataFields(BaseModel):
    """The side whose value of a field stays, where the declaration has one and a steward wrote another there.

    `declared`: the declaration's is sent again. `steward`: theirs stays. Either way it is shown as a proposed change.
    """

    model_config = ConfigDict(extra="forbid")

    description: Winner = Field(default=Winner.DECLARED, description="Descriptions of datasets and columns.")
    owners: Winner = Field(default=Winner.DECLARED, description="Owners.")
    tags: Winner = Field(
        default=Winner.STEWARD,
        description="Tags, tiers and glossary terms; those that stewards add always stay.",
    )
    domains: Winner = Field(default=Winner.STEWARD, description="Domains and data products.")
    status: Winner = Field(default=Winner.DECLARED, description="Deprecation.")


class OpenMetadataSettings(BaseModel):
    """The OpenMetadata server to synchronise with; unused without `url`."""

    model_config = ConfigDict(extra="forbid")

    url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/@?#]+(/[^\s@?#]*)?$",
        description="Its API, without a password: `https://metadata.example.com/api`.",
    )
    token: SecretStr | None = Field(default=None, description="The token of its bot; set the variable.")
    token_file: Path | None = Field(default=None, description="A file with that token instead.")
    webhook_secret: SecretStr | None = Field(
        default=None, description="The secret key of its webhook to Headrace; set the variable."
    )
    service: str = Field(
        default="headrace",
        pattern=r"^[\w-]{1,64}$",
        description="The name of the database and pipeline services there.",
    )
    fields: OpenMetadataFields = Field(
        default_factory=OpenMetadataFields,
        description="Whose `description`, `owners`, `tags`, `domains` and `status` stay: `declared` or `steward`.",
    )
    send_sql: bool = Field(default=False, description="Send the SQL of processes with their lineage.")
    send_values: bool = Field(
        default=False,
        description="Send smallest and largest values of columns, and examples of rows that failed checks; never of "
        "sensitive columns.",
    )

    @property
    def bot_token(self) -> str | None:
        """The token of the bot, from the variable or the file."""
        if self.token_file is not None:
            return self.token_file.read_text(encoding="utf-8").strip()
        return self.token.get_secret_value() if self.token is not None else None


class ConnectionSettings(BaseModel):
    """A database that declarations name by NAME, in lower case: `[connections.crm]`."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(
        pattern=r"^(jdbc:[a-z0-9]+:|postgresql://)",
        description="The URL of the database, without a password: `postgresql://host/database`, which needs no "
        "driver, or a JDBC URL such as `jdbc:db2://host/database`.",
    )
    user: str | None = Field(default=None, description="The user to connect as.")
    password: SecretStr | None = Field(default=None, description="The user's password; set the variable.")
    password_file: Path | None = Field(
        default=None, description="A file with the password instead, read at each connection."
    )
    driver: str | None = Field(
        default=None, description="The class of the JDBC driver; by default that of the database in `url`."
    )
    jars: tuple[Path, ...] = Field(
        default=(), description="The jars of the driver, which Spark loads when it starts."
    )
    properties: dict[str, str] = Field(
        default_factory=dict,
        description="Other properties of the driver, by name; secrets are refused.",
    )

    @field_validator("url")
    @classmethod
    def _without_password(cls, url: str) -> str:
        if _PASSWORD.search(url):
            raise ValueError("it contains a password, which would be logged; use `user` and `password`")
        return url

    @model_validator(mode="after")
    def _one_password(self) -> Self:
        if self.password is not None and self.password_file is not None:
            raise ValueError("`password` and `password_file` cannot be combined")
        if secret := next((name for name in self.properties if _SECRET.search(name)), None):
            raise ValueError(f"`properties` cannot have {secret!r}; use `password` or `password_file`")
        if not self.url.startswith("jdbc:") and (self.driver or self.jars):
            raise ValueError("`driver` and `jars` need a JDBC URL, which begins with `jdbc:`")
        return self


class RetentionClass(BaseModel):
    """Limits for the versions of datasets with the tag `retention: NAME`: `[retention_classes.NAME]`."""

    model_config = ConfigDict(extra="forbid")

    min_days: Annotated[int, Field(ge=1, le=40_000)] | None = Field(
        default=None, description="Versions stay at least so many days, whatever `keep` says."
    )
    max_days: Annotated[int, Field(ge=1, le=40_000)] | None = Field(
        default=None,
        description="Versions expire after so many days, whatever `keep` says, once they are not in use.",
    )

    @model_validator(mode="after")
    def _limits(self) -> Self:
        if self.min_days is None and self.max_days is None:
            raise ValueError("needs `min_days` or `max_days`")
        if self.min_days is not None and self.max_days is not None and self.min_days > self.max_days:
            raise ValueError("`min_days` is more than `max_days`")
        return self


class Settings(BaseSettings):
    """The settings of one project on one deployment. docs/settings.md is generated from the descriptions."""

    model_config = SettingsConfigDict(
        env_prefix="HEADRACE_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
        hide_input_in_errors=True,  # it may be a secret
    )

    name: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$",
        description="The project's name, unique among the projects of one catalog; the folder's name if unset.",
    )
    project_id: UUID | None = Field(
        default=None,
        description="Distinguishes the project from others with its name, which the catalog then refuses. "
        "`headrace init` generates it.",
    )
    home: Path = Field(
        default_factory=lambda: project_root() / ".headrace",
        description="The state folder: embedded PostgreSQL, logs, default warehouse. `.headrace` in the project if "
        "unset. In the file it is relative to the project.",
    )
    database_url: str | None = Field(
        default=None,
        description="The catalog and Dagster's storage: PostgreSQL 15 or newer, "
        "`postgresql://user:password@host/database`. An embedded server if unset.",
    )
    warehouse: str | None = Field(
        default=None,
        description="The Hadoop filesystem URI under which versions are written; `warehouse` in the state folder if "
        "unset.",
    )
    iceberg_catalog: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="The URI of an Iceberg REST catalog for the tables of the store `iceberg`. If unset, the catalog's "
        "database has them.",
    )
    organisation: str = Field(
        default="default",
        description="The organisation whose datasets these are; every row of the catalog has one.",
    )
    profile: Literal["basic", "full"] = Field(
        default="basic",
        description="How columns are profiled, unless their dataset declares it: `basic`, nulls and bounds at no cost; "
        "`full`, also distinct counts, quantiles, frequent values and patterns.",
    )
    profile_sample_rows: int = Field(
        default=100_000,
        ge=1,
        description="Rows of the sample by which versions of external datasets with `profile: full` are profiled.",
    )
    completions: str | None = Field(
        default=None,
        description="Where legacy jobs write completion files: a folder or any fsspec URI; `completions` in the state "
        "folder if unset.",
    )
    completion_names: tuple[str, ...] = Field(
        default=(),
        description="Regular expressions for the names of completion files, with named groups (`process`, `run`, "
        "`date`, ...), tried before the built-in one.",
    )
    completions_zone: ZoneInfo = Field(
        default=ZoneInfo("UTC"), description="The time zone of times without one in completion files."
    )
    autosys_timezones: Path | None = Field(
        default=None,
        description="A file with the time zones that `autotimezone -l` of your scheduler lists and the zone database "
        "lacks: a name and a zone on each line.",
    )
    autosys_holidays_are_workdays: bool | None = Field(
        default=None,
        description="Whether the keyword `WORKD` of extended calendars counts the days of the holiday calendar as "
        "workdays. If unset, such calendars are reported as unknown.",
    )
    dated_directories: bool = Field(
        default=True,
        description="Whether paths of other systems that end with a date (`credit-out/v20250908`, `dt=2025-09-08`) are "
        "versions of one dataset, the path without it. If not, each is a dataset.",
    )
    completions_interval: int = Field(
        default=5, ge=1, description="Seconds between two checks for completion files."
    )
    archive: str | None = Field(
        default=None,
        description="Where runs and events older than 90 days are archived: a folder or any fsspec URI, one for each "
        "database; `archive` in the state folder if unset.",
    )
    log_folders: tuple[Path, ...] = Field(
        default=(),
        description="Folders on the service's machine with logs of jobs: the page of a run shows the ends of those "
        "that its attempts name. Only these files are read, and Dagster's own logs.",
    )
    requests_per_second: int = Field(
        default=1000, ge=1, description="Maximum number of requests per second from one caller."
    )
    service_url: str = Field(
        default="http://127.0.0.1:3200",
        description="The address of the HTTP service, for runs and alert links; `headrace up` sets it.",
    )
    dagster_url: str | None = Field(
        default=None,
        description="The address of Dagster's UI, for links of the pages; `headrace up` sets it.",
    )
    dagster_api_url: str | None = Field(
        default=None,
        description="The address at which the service launches runs in Dagster, where a proxy at `dagster_url` signs "
        "users in. If unset, `dagster_url`; `headrace up` sets it.",
    )
    alert_secret: SecretStr | None = Field(
        default=None,
        min_length=32,
        description="The key that signs links in alerts and the state of a sign-in: at least 32 characters, the same "
        "on every machine. If unset, a key in the state folder is used, and in production there are no links.",
    )
    production: bool | None = Field(
        default=None,
        description="Accept only tokens of the issuer and of this catalog. If unset, true if `database_url` is set.",
    )
    access: AccessSettings = AccessSettings()
    spark: SparkSettings = SparkSettings()
    lineage_database_url: SecretStr | None = Field(
        default=None,
        description="A database with a copy of the OL_* tables: `postgresql://`, `db2://` or `teradatasql://`.",
    )
    neo4j: Neo4jSettings = Neo4jSettings()
    janusgraph: JanusGraphSettings = JanusGraphSettings()
    datahub: DataHubSettings = DataHubSettings()
    openmetadata: OpenMetadataSettings = OpenMetadataSettings()
    connections: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], ConnectionSettings] = Field(
        default_factory=dict,
        description="Databases, by the names that declarations use; see below.",
    )

    retention_classes: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], RetentionClass] = Field(
        default_factory=dict,
        description="Legal limits of retention, by the names that the tag `retention` of datasets uses; see below.",
    )

    @property
    def project_name(self) -> str:
        """The name of this project."""
        return self.name or project_root().name

    @property
    def warehouse_uri(self) -> str:
        """The warehouse as a URI without a trailing slash."""
        return (self.warehouse or (self.home.resolve() / "warehouse").as_uri()).rstrip("/")

    @property
    def completions_location(self) -> str:
        """The folder of completion files: a local path or a URI."""
        return (self.completions or str(self.home.resolve() / "completions")).rstrip("/")

    @property
    def archive_location(self) -> str:
        """The folder of archived runs and events: a local path or a URI."""
        return (self.archive or str(self.home.resolve() / "archive")).rstrip("/")

    @property
    def is_production(self) -> bool:
        """True if this deployment only accepts tokens of its issuer."""
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
        """Define the precedence: arguments, then the environment, then headrace.toml."""
        return (
            init_settings,
            env_settings,
            _ProjectFile(settings_cls, project_root() / PROJECT_FILE),
        )


class _ProjectFile(TomlConfigSettingsSource):
    """The settings in headrace.toml; its `home` is relative to the project, wherever the command runs."""

    def __call__(self) -> dict[str, Any]:
        found = super().__call__()
        home = found.get("home")
        return {**found, "home": project_root() / Path(home).expanduser()} if isinstance(home, str) else found


@cache
def settings() -> Settings:
    """Return the settings of this process, read once.

    Raises pydantic.ValidationError naming the field for an invalid value in headrace.toml or the environment,
    WrongSettingsFile for a headrace.toml that is not TOML, WrongVariable for an environment variable that should be
    JSON and is not.
    """
    _refuse_unknown_variables()
    try:
        return Settings()
    except TOMLDecodeError as error:
        raise WrongSettingsFile(f"{project_root() / PROJECT_FILE} is not valid TOML: {error}") from error
    except SettingsError as error:
        broken = [name for name in sorted(os.environ) if _is_broken_json(name)]
        problems = "\n".join(f"{name} is not a JSON {_JSON_VARIABLES[name.upper()]}" for name in broken)
        raise WrongVariable(problems or str(error)) from error


def state_file(path: Path, make: Callable[[], str]) -> str:
    """Return the text of a file of the state folder, which the first process that asks for it makes.

    Only its owner can read it. Of several processes at once one wins, and all get its text.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        fresh.touch(mode=0o600)
        try:
            fresh.write_text(make(), encoding="ascii")
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text(encoding="ascii")


def groups_of(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Return the settings that are groups of settings, by name."""
    return {
        name: field.annotation
        for name, field in model.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }


def _refuse_unknown_variables() -> None:
    """Raise WrongVariable for a HEADRACE_ variable that is not a setting, since a misspelt one would have no effect."""
    known = {f"HEADRACE_{name.upper()}" for name in Settings.model_fields}
    groups = {f"HEADRACE_{name.upper()}" for name in (*groups_of(Settings), "connections")}
    for name in sorted(os.environ):
        upper = name.upper()
        if not upper.startswith("HEADRACE_") or upper in _OTHER_VARIABLES:
            continue
        if upper not in known and upper.partition("__")[0] not in groups:
            near = get_close_matches(upper, sorted(known), n=1)
            hint = f" Did you mean {near[0]}?" if near else " docs/settings.md lists the settings."
            raise WrongVariable(f"{name} is not a setting.{hint} Correct or unset it.")


def _is_broken_json(name: str) -> bool:
    """Return True if the variable should be JSON and is not."""
    if name.upper() not in _JSON_VARIABLES:
        return False
    try:
        json.loads(os.environ[name])
    except ValueError:
        return True
    return False
