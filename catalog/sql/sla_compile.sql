-- The promises of some SLAs become those that are given; one that says what it said goes on as it stands.
WITH given AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_recordset(%(promises)s) AS item (
        sla_id uuid, kind text, ordinal int, dataset_id uuid, process_id uuid, definition jsonb, settled timestamptz,
        reason text, next_at timestamptz
    )
), gone AS (
    DELETE FROM catalog.sla_promise promise
    WHERE promise.sla_id = ANY (%(slas)s)
      AND NOT EXISTS (
          SELECT FROM given
          WHERE (given.sla_id, given.kind, given.ordinal) = (promise.sla_id, promise.kind, promise.ordinal)
      )
), compiled AS (
    UPDATE catalog.sla SET compiled_at = updated_at WHERE sla_id = ANY (%(slas)s)
)
INSERT INTO catalog.sla_promise AS promise (
    organisation_id, sla_id, kind, ordinal, dataset_id, process_id, definition, state, since, reason, settled, opens_at,
    next_at, evaluated_at
)
SELECT %(organisation)s, sla_id, kind, ordinal, dataset_id, process_id, definition, 'UNKNOWN', %(now)s, reason, settled,
       settled, next_at, %(now)s
FROM given
ON CONFLICT (sla_id, kind, ordinal) DO UPDATE
    SET definition = excluded.definition,
        settled = CASE WHEN promise.definition = excluded.definition THEN promise.settled ELSE excluded.settled END,
        opens_at = CASE WHEN promise.definition = excluded.definition THEN promise.opens_at ELSE excluded.opens_at END,
        met_at = CASE WHEN promise.definition = excluded.definition THEN promise.met_at END,
        next_at = excluded.next_at,
        reason = CASE WHEN excluded.next_at = 'infinity' THEN excluded.reason ELSE promise.reason END
