-- Store the results of an evaluation: the tables evaluated, changed and settled of this transaction.
WITH changes AS (
    INSERT INTO catalog.sla_change (
        organisation_id, dataset_id, process_id, kind, ordinal, state, before, at, detected_at, deadline, partition_key, reason
    )
    SELECT %(organisation)s, dataset_id, process_id, kind, ordinal, state, before, at, %(now)s, deadline, partition_key, reason
    FROM pg_temp.changed
    ORDER BY place
), outcomes AS (
    INSERT INTO catalog.sla_outcome AS known (
        organisation_id, subject_id, kind, ordinal, deadline, dataset_id, process_id, partition_key, outcome, arrived_at
    )
    SELECT %(organisation)s, coalesce(dataset_id, process_id), kind, ordinal, deadline, dataset_id, process_id,
           partition_key, outcome, arrived_at
    FROM pg_temp.settled
    ON CONFLICT (subject_id, kind, ordinal, deadline) DO UPDATE
        SET outcome = excluded.outcome, arrived_at = excluded.arrived_at
)
UPDATE catalog.sla_objective objective
SET state = evaluated.state, since = evaluated.since, reason = evaluated.reason, settled = evaluated.settled,
    opens_at = evaluated.opens_at, deadline = evaluated.deadline, partition_key = evaluated.partition_key,
    met_at = evaluated.met_at, newest_at = evaluated.newest_at, run_id = evaluated.run_id, next_at = evaluated.next_at,
    evaluated_at = greatest(objective.evaluated_at, %(now)s), incident_id = evaluated.incident_id,
    miss_probability = CASE WHEN evaluated.predicted THEN objective.miss_probability END,
    expected_at = CASE WHEN evaluated.predicted THEN objective.expected_at END,
    expected_from = CASE WHEN evaluated.predicted THEN objective.expected_from END,
    expected_to = CASE WHEN evaluated.predicted THEN objective.expected_to END,
    waits_for = CASE WHEN evaluated.predicted THEN objective.waits_for END,
    waits_for_id = CASE WHEN evaluated.predicted THEN objective.waits_for_id END,
    waits_minutes = CASE WHEN evaluated.predicted THEN objective.waits_minutes END
FROM pg_temp.evaluated
WHERE objective.objective_id = evaluated.objective_id
