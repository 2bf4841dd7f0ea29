"""The files store: a version is a directory of Parquet, CSV, JSON or ORC files, which a manifest lists."""
