"""What this project's runs need: its Spark engines."""

from headrace.spark.session import SparkResource

RESOURCES = {"spark": SparkResource()}
