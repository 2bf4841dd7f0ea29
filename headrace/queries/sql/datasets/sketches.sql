-- The sketches of one column of versions, in the order of these.
SELECT sketch.dataset_version_id AS version_id, sketch.type, sketch.row_count, sketch.null_count, sketch.sampled,
       sketch.total, sketch.shortest, sketch.longest, sketch.characters, sketch.distinct_sketch AS distinct,
       sketch.quantile_sketch AS quantiles, sketch.frequent_sketch AS frequent, sketch.pattern_sketch AS patterns
FROM unnest(%(version_ids)s::uuid[]) WITH ORDINALITY AS wanted (version_id, place)
JOIN catalog.column_sketch sketch ON sketch.dataset_version_id = wanted.version_id
WHERE sketch.column_name = %(column)s
ORDER BY wanted.place
