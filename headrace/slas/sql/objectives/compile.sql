-- Set the objectives of some SLAs to those in the table `given` of this transaction, after `sla_withdraw`. An SLA without
-- terms is no longer declared.
WITH gone AS (
    DELETE FROM catalog.sla_objective objective
    WHERE objective.sla_id = ANY (%(slas)s)
      AND NOT EXISTS (
          SELECT FROM pg_temp.given
          WHERE (given.sla_id, given.kind, given.ordinal) = (objective.sla_id, objective.kind, objective.ordinal)
      )
), compiled AS (
    UPDATE catalog.sla SET compiled_at = updated_at WHERE sla_id = ANY (%(slas)s) AND definition <> '{}'
), removed AS (
    DELETE FROM catalog.sla WHERE sla_id = ANY (%(slas)s) AND definition = '{}'
)
INSERT INTO catalog.sla_objective AS objective (
    organisation_id, sla_id, kind, ordinal, dataset_id, process_id, definition, state, since, reason, settled, opens_at,
    next_at, evaluated_at
)
SELECT %(organisation)s, sla_id, kind, ordinal, dataset_id, process_id, definition::jsonb, 'UNKNOWN', %(now)s, reason, settled,
       settled, CASE WHEN wrong THEN 'infinity' ELSE %(now)s END, %(now)s
FROM pg_temp.given
ON CONFLICT (sla_id, kind, ordinal) DO UPDATE
    SET next_at = excluded.next_at,
        reason = CASE WHEN excluded.next_at = 'infinity' THEN excluded.reason ELSE objective.reason END
