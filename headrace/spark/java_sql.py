"""java.sql in Spark's JVM, with the drivers that Spark has loaded; its connections are objects of the JVM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def connect(
    session: SparkSession, driver: str, url: str, properties: Mapping[str, str], seconds: int
) -> tuple[Any, Any]:
    """Return the JVM, and a java.sql.Connection in it: None if the driver does not know the URL.

    Spark's class loader has the drivers' jars, that of java.sql.DriverManager has not. seconds: how long it may take.
    """
    jvm: Any = session._jvm
    gateway: Any = session.sparkContext._gateway
    jvm.java.sql.DriverManager.setLoginTimeout(seconds)
    given = jvm.java.util.Properties()
    for name, text in properties.items():
        given.setProperty(name, text)
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    constructor = loader.loadClass(driver).getDeclaredConstructor(gateway.new_array(jvm.java.lang.Class, 0))
    made = constructor.newInstance(gateway.new_array(jvm.java.lang.Object, 0))
    return jvm, made.connect(url, given)


def summer_zone(session: SparkSession) -> str | None:
    """Return the time zone of Java in this process if it has summer time, in which some times do not exist."""
    jvm: Any = session._jvm
    zone = jvm.java.util.TimeZone.getDefault()
    return str(zone.getID()) if zone.useDaylightTime() else None
