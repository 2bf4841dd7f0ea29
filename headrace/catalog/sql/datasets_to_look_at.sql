-- Datasets of which rows were published after the last look for personal data.
SELECT full_name
FROM catalog.dataset
LEFT JOIN catalog.personal_data_look look USING (dataset_id)
WHERE dataset.organisation_id = %(organisation)s
  AND dataset.status <> 'RETIRED'
  AND EXISTS (
      SELECT FROM catalog.published_pointer pointer
      WHERE pointer.dataset_id = dataset.dataset_id
        AND pointer.dataset_version_id IS NOT NULL
        AND (looked_at IS NULL OR moved_at >= looked_at))
ORDER BY full_name
