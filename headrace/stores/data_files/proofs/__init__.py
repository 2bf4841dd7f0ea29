"""Proofs that no row of written Parquet files fails a check, by what this process reads of them without Spark."""
