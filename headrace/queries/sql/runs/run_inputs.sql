-- The inputs recorded by each attempt, and those of the run's versions.
SELECT read.run_id, read.version_id, dataset.full_name AS dataset, version.partition_key, version.version_tag AS tag,
       max(read.reason) AS reason
FROM (
    SELECT run_id, dataset_version_id AS version_id, reason
    FROM catalog.run_input
    WHERE run_id = ANY (%(run_ids)s)
    UNION ALL
    SELECT output.produced_by_run_id, used.input_version_id, NULL
    FROM catalog.dataset_version output
    JOIN catalog.version_input used USING (dataset_version_id)
    WHERE output.produced_by_run_id = ANY (%(run_ids)s)
) read
JOIN catalog.dataset_version version ON version.dataset_version_id = read.version_id
JOIN catalog.dataset USING (dataset_id)
GROUP BY read.run_id, read.version_id, dataset.full_name, version.partition_key, version.version_tag
ORDER BY dataset.full_name, version.partition_key
