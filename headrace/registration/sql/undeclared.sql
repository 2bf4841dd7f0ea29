-- Give up the datasets and processes of a project that it no longer declares: any project may declare them from now on.
-- The processes are retired, and their edges and SLAs end; returns the datasets, to retire.
WITH dataset AS (
    UPDATE catalog.dataset SET project = NULL, declaration_hash = ''
    WHERE organisation_id = %(organisation)s
      AND project = %(project)s
      AND declaration_hash <> ''
      AND full_name <> ALL (%(datasets)s)
    RETURNING full_name
), process AS (
    UPDATE catalog.process SET project = NULL, declaration_hash = '', lifecycle = 'RETIRED', updated_at = now()
    WHERE organisation_id = %(organisation)s
      AND project = %(project)s
      AND declaration_hash <> ''
      AND process_key <> ALL (%(processes)s)
    RETURNING process_id
), ended AS (
    UPDATE catalog.lineage_edge edge SET valid_to = now()
    FROM process
    WHERE edge.process_id = process.process_id AND edge.valid_to IS NULL
), withdrawn AS (
    UPDATE catalog.sla SET updated_at = clock_timestamp()
    FROM process
    WHERE sla.process_id = process.process_id
)
SELECT full_name AS key FROM dataset ORDER BY full_name
