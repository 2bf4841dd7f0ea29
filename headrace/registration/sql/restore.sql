-- Restore retired datasets, and the processes with their keys. The next evaluation applies their SLAs again.
WITH restored AS (
    UPDATE catalog.dataset SET status = 'ACTIVE', updated_at = now()
    WHERE organisation_id = %(organisation)s AND full_name = ANY (%(keys)s) AND status = 'RETIRED'
    RETURNING dataset_id, full_name
), process AS (
    UPDATE catalog.process SET lifecycle = 'ACTIVE', updated_at = now()
    FROM restored
    WHERE process.organisation_id = %(organisation)s
      AND process_key = restored.full_name
      AND lifecycle = 'RETIRED'
      AND external_name IS NULL
    RETURNING process_id
), applied AS (
    UPDATE catalog.sla SET updated_at = clock_timestamp()
    WHERE dataset_id IN (SELECT dataset_id FROM restored) OR process_id IN (SELECT process_id FROM process)
), recorded AS (
    UPDATE catalog.dataset_retirement retirement
    SET restored_by = %(by)s, restore_reason = %(reason)s, restored_at = now()
    FROM restored
    WHERE retirement.dataset_id = restored.dataset_id AND restored_at IS NULL
)
SELECT full_name AS key FROM restored ORDER BY full_name
