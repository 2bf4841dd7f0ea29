-- The runs of events that are one of a scheduler's runs, have its id, or overlap with it.
WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(spans)s) AS item (process_id uuid, run_id uuid, since timestamptz, until timestamptz)
), found AS (
    SELECT reported.organisation_id, reported.run_id
    FROM item
    JOIN catalog.openlineage_run reported
        ON reported.process_id = item.process_id
       AND (reported.run_id = item.run_id
            OR reported.last_at >= item.since AND (item.until IS NULL OR reported.first_at <= item.until))
    UNION
    SELECT reported.organisation_id, reported.run_id
    FROM item
    JOIN catalog.openlineage_run reported
        ON reported.organisation_id = %(organisation)s AND reported.reported_run_id = item.run_id
)
SELECT reported.reported_run_id, reported.process_id, reported.document
FROM found
JOIN catalog.openlineage_run reported USING (organisation_id, run_id)
WHERE reported.organisation_id = %(organisation)s AND reported.reported_run_id <> reported.process_id AND NOT reported.native
