-- Restore retired datasets, and the processes with their keys: to deprecated ones if they were that, else to active ones,
-- as deprecated ones are. The next evaluation applies the SLAs of retired ones again.
WITH chosen AS (
    SELECT dataset_id, status,
           CASE WHEN status = 'RETIRED' AND EXISTS (
                    SELECT FROM catalog.dataset_retirement retirement
                    WHERE retirement.dataset_id = dataset.dataset_id AND retirement.status = 'DEPRECATED'
                      AND restored_at IS NULL)
                THEN 'DEPRECATED' ELSE 'ACTIVE' END AS next
    FROM catalog.dataset
    WHERE organisation_id = %(organisation)s AND full_name = ANY (%(keys)s) AND status IN ('DEPRECATED', 'RETIRED')
), restored AS (
    UPDATE catalog.dataset SET status = chosen.next, updated_at = now()
    FROM chosen
    WHERE dataset.dataset_id = chosen.dataset_id
    RETURNING dataset.dataset_id, full_name, chosen.status AS former
), process AS (
    UPDATE catalog.process SET lifecycle = 'ACTIVE', updated_at = now()
    FROM restored
    WHERE process.organisation_id = %(organisation)s
      AND process_key = restored.full_name
      AND restored.former = 'RETIRED'
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
    WHERE retirement.dataset_id = restored.dataset_id AND retirement.status = restored.former AND restored_at IS NULL
)
SELECT full_name AS key FROM restored ORDER BY full_name
