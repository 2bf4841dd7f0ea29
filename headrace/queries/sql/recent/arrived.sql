-- The datasets of the newest versions since a time, with the number of those versions and the newest one.
SELECT dataset.full_name AS dataset, arrived.count, arrived.row_count, newest.version_tag AS tag,
       nullif(newest.partition_key, '') AS partition, newest.outcome, newest.produced_at AS created_at,
       newest.produced_by_run_id AS run_id
FROM (
    SELECT dataset_id, count(*) AS count, sum(row_count)::bigint AS row_count
    FROM (
        SELECT dataset_id, row_count
        FROM catalog.dataset_version
        WHERE organisation_id = %(organisation)s AND produced_at >= %(since)s
        ORDER BY produced_at DESC
        LIMIT %(versions)s
    ) AS written
    GROUP BY dataset_id
) AS arrived
JOIN catalog.dataset USING (dataset_id)
CROSS JOIN LATERAL (
    SELECT * FROM catalog.dataset_version AS version
    WHERE version.dataset_id = arrived.dataset_id
    ORDER BY version.produced_at DESC, version.dataset_version_id
    LIMIT 1
) AS newest
ORDER BY newest.produced_at DESC, dataset.full_name
LIMIT %(limit)s
