-- Datasets that have an SLA, and when the newest of what is published of them was written.
SELECT dataset.dataset_id, dataset.full_name AS key, dataset.owners, sla.definition AS sla, published.newest_at,
       published.newest_tag
FROM catalog.sla
JOIN catalog.dataset USING (dataset_id)
LEFT JOIN LATERAL (
    SELECT max(version.produced_at) AS newest_at,
           (array_agg(version.version_tag ORDER BY version.produced_at DESC, version.dataset_version_id))[1] AS newest_tag
    FROM catalog.published_pointer pointer
    JOIN catalog.dataset_version version USING (dataset_version_id)
    WHERE pointer.dataset_id = dataset.dataset_id
) published ON true
WHERE dataset.organisation_id = %(organisation)s
  AND dataset.full_name > %(after)s
ORDER BY dataset.full_name
LIMIT %(limit)s
