-- Of runs that are not running: the published versions that are not reported, those never tried first. Replaced ones need
-- no report.
-- inputs: tags of the unpartitioned versions that it was made from, by dataset.
SELECT unreported.dataset_version_id, pointer.generation, unreported.delivered, unreported.failure,
       count(*) OVER () AS total,
       (SELECT coalesce(jsonb_object_agg(source.full_name, input.version_tag), '{}')
        FROM catalog.version_input used
        JOIN catalog.dataset_version input ON input.dataset_version_id = used.input_version_id AND input.partition_key = ''
        JOIN catalog.dataset source ON source.dataset_id = input.dataset_id
        WHERE used.dataset_version_id = unreported.dataset_version_id) AS inputs
FROM catalog.unreported_version unreported
JOIN catalog.dataset_version version USING (dataset_version_id)
JOIN catalog.dataset USING (dataset_id)
JOIN catalog.published_pointer pointer USING (dataset_version_id)
WHERE unreported.organisation_id = %(organisation)s
  AND (%(datasets)s::text[] IS NULL OR dataset.full_name = ANY (%(datasets)s))
  AND NOT EXISTS (
      SELECT FROM catalog.run_attempt attempt
      WHERE attempt.run_id = version.produced_by_run_id AND attempt.state = 'RUNNING'
  )
  AND (NOT %(due)s OR unreported.next_try_at <= now())
ORDER BY unreported.tries, version.produced_at
LIMIT %(limit)s
