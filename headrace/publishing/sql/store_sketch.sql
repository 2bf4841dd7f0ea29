-- Stores the sketches of a column; those of a version that is profiled again replace the earlier ones.
INSERT INTO catalog.column_sketch (
    dataset_version_id, column_name, organisation_id, type, row_count, null_count, sampled, total, shortest, longest,
    characters, distinct_sketch, quantile_sketch, frequent_sketch, pattern_sketch
)
VALUES (
    %(version_id)s, %(column)s, %(organisation)s, %(type)s, %(row_count)s, %(null_count)s, %(sampled)s, %(total)s,
    %(shortest)s, %(longest)s, %(characters)s, %(distinct)s, %(quantiles)s, %(frequent)s, %(patterns)s
)
ON CONFLICT (dataset_version_id, column_name) DO UPDATE
SET type = excluded.type, row_count = excluded.row_count, null_count = excluded.null_count, sampled = excluded.sampled,
    total = excluded.total, shortest = excluded.shortest, longest = excluded.longest, characters = excluded.characters,
    distinct_sketch = excluded.distinct_sketch, quantile_sketch = excluded.quantile_sketch,
    frequent_sketch = excluded.frequent_sketch, pattern_sketch = excluded.pattern_sketch
