-- The versions of a dataset, those made from given versions, and given ones, the oldest first: where their rows are, what
-- they were made from and how, and why they cannot be erased now (`obstacle`).
SELECT version.dataset_version_id, version.quarantine_path, version.statistics,
       version.metadata_json ->> 'warehouse' AS base_uri, dataset.metadata_json ? 'external' AS is_external,
       expired.erasure_id IS NOT NULL AS is_erased,
       expired.expired_at IS NOT NULL AND expired.erasure_id IS NULL AS is_expired,
       pointer.generation, lineage.content AS lineage,
       ARRAY (SELECT input_version_id FROM catalog.version_input input
              WHERE input.dataset_version_id = version.dataset_version_id) AS inputs,
       CASE
           WHEN dataset.metadata_json -> 'keep' ->> 'hold' IS NOT NULL
               THEN 'held: ' || (dataset.metadata_json -> 'keep' ->> 'hold')
           WHEN pin.reason IS NOT NULL THEN 'pinned by ' || pin.pinned_by || ': ' || pin.reason
           ELSE (SELECT 'read by run ' || input.run_id || ', which has not ended'
                 FROM catalog.run_input input
                 JOIN catalog.run_attempt attempt USING (run_id, attempt)
                 WHERE input.dataset_version_id = version.dataset_version_id AND attempt.state = 'RUNNING'
                 LIMIT 1)
       END AS obstacle
FROM catalog.dataset_version version
JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.expired_version expired USING (dataset_version_id)
LEFT JOIN catalog.published_pointer pointer USING (dataset_version_id)
LEFT JOIN catalog.dataset_lineage lineage
    ON lineage.dataset_id = version.dataset_id AND lineage.lineage_hash = version.lineage_hash
LEFT JOIN LATERAL (
    SELECT pinned_by, reason FROM catalog.dataset_pin
    WHERE dataset_pin.dataset_version_id = version.dataset_version_id AND unpinned_at IS NULL
    LIMIT 1
) pin ON true
WHERE version.organisation_id = %(organisation)s
  AND (version.dataset_version_id = ANY (%(versions)s)
       OR version.dataset_version_id IN (
           SELECT dataset_version_id FROM catalog.version_input WHERE input_version_id = ANY (%(made_from)s))
       OR version.dataset_id IN (
           SELECT dataset_id FROM catalog.dataset
           WHERE organisation_id = %(organisation)s AND full_name = %(dataset)s))
ORDER BY version.produced_at, version.dataset_version_id
