-- The promises of some SLAs become those of the table `given` of this transaction; one that says what it said goes on as it
-- stands.
WITH gone AS (
    DELETE FROM catalog.sla_promise promise
    WHERE promise.sla_id = ANY (%(slas)s)
      AND NOT EXISTS (
          SELECT FROM pg_temp.given
          WHERE (given.sla_id, given.kind, given.ordinal) = (promise.sla_id, promise.kind, promise.ordinal)
      )
), compiled AS (
    UPDATE catalog.sla SET compiled_at = updated_at WHERE sla_id = ANY (%(slas)s)
)
INSERT INTO catalog.sla_promise AS promise (
    organisation_id, sla_id, kind, ordinal, dataset_id, process_id, definition, state, since, reason, settled, opens_at,
    next_at, evaluated_at
)
SELECT %(organisation)s, sla_id, kind, ordinal, dataset_id, process_id, definition::jsonb, 'UNKNOWN', %(now)s, reason, settled,
       settled, CASE WHEN wrong THEN 'infinity' ELSE %(now)s END, %(now)s
FROM pg_temp.given
ON CONFLICT (sla_id, kind, ordinal) DO UPDATE
    SET definition = excluded.definition,
        settled = CASE WHEN promise.definition = excluded.definition THEN promise.settled ELSE excluded.settled END,
        opens_at = CASE WHEN promise.definition = excluded.definition THEN promise.opens_at ELSE excluded.opens_at END,
        met_at = CASE WHEN promise.definition = excluded.definition THEN promise.met_at END,
        next_at = excluded.next_at,
        reason = CASE WHEN excluded.next_at = 'infinity' THEN excluded.reason ELSE promise.reason END
