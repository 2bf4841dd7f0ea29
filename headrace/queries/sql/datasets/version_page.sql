SELECT version.dataset_version_id, version.reason, version.quarantine_rows,
       EXISTS (SELECT FROM catalog.published_pointer pointer
               WHERE pointer.dataset_version_id = version.dataset_version_id) AS published,
       ARRAY (SELECT name FROM catalog.quality_check_result result
              WHERE result.dataset_version_id = version.dataset_version_id AND status = 'FAIL' ORDER BY name) AS failing,
       ARRAY (SELECT name FROM catalog.quality_check_result result
              WHERE result.dataset_version_id = version.dataset_version_id AND status = 'WARN' ORDER BY name) AS warning,
       coalesce((SELECT jsonb_agg(jsonb_build_object('kind', kind, 'by', moved_by, 'reason', reason, 'at', moved_at)
                                  ORDER BY generation)
                 FROM catalog.pointer_move move
                 WHERE move.dataset_version_id = version.dataset_version_id AND kind <> 'PUBLISH'), '[]') AS moves
FROM catalog.dataset_version version
WHERE version.dataset_id = %(dataset_id)s
  AND (%(partition)s::text IS NULL OR version.partition_key = %(partition)s)
  AND (%(before_at)s::timestamptz IS NULL OR version.produced_at <= %(before_at)s)
  AND (%(before_at)s::timestamptz IS NULL
       OR version.produced_at < %(before_at)s
       OR version.dataset_version_id > %(after_id)s::uuid)
ORDER BY version.produced_at DESC, version.dataset_version_id
LIMIT %(limit)s
