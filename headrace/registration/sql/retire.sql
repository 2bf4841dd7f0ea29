-- Retire datasets, and the processes with their keys. The next evaluation withdraws their SLAs; everything else stays.
WITH retired AS (
    UPDATE catalog.dataset SET status = 'RETIRED', updated_at = now()
    WHERE organisation_id = %(organisation)s AND full_name = ANY (%(keys)s) AND status <> 'RETIRED'
    RETURNING dataset_id, full_name
), recorded AS (
    INSERT INTO catalog.dataset_retirement (organisation_id, dataset_id, retired_by, reason)
    SELECT %(organisation)s, dataset_id, %(by)s, %(reason)s FROM retired
), process AS (
    UPDATE catalog.process SET lifecycle = 'RETIRED', updated_at = now()
    FROM retired
    WHERE process.organisation_id = %(organisation)s
      AND process_key = retired.full_name
      AND lifecycle = 'ACTIVE'
      AND external_name IS NULL
    RETURNING process_id
), withdrawn AS (
    UPDATE catalog.sla SET updated_at = clock_timestamp()
    WHERE dataset_id IN (SELECT dataset_id FROM retired) OR process_id IN (SELECT process_id FROM process)
)
SELECT full_name AS key FROM retired ORDER BY full_name
