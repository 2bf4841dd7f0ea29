-- What judging came to: the tables judged, changed and settled of this transaction.
WITH changes AS (
    INSERT INTO catalog.sla_change (
        organisation_id, dataset_id, process_id, kind, ordinal, state, before, at, noticed_at, deadline, partition_key, reason
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
UPDATE catalog.sla_promise promise
SET state = judged.state, since = judged.since, reason = judged.reason, settled = judged.settled,
    opens_at = judged.opens_at, deadline = judged.deadline, partition_key = judged.partition_key,
    met_at = judged.met_at, newest_at = judged.newest_at, run_id = judged.run_id, next_at = judged.next_at,
    evaluated_at = greatest(promise.evaluated_at, %(now)s), incident_id = judged.incident_id,
    chance = CASE WHEN judged.predicted THEN promise.chance END,
    expected_at = CASE WHEN judged.predicted THEN promise.expected_at END,
    expected_from = CASE WHEN judged.predicted THEN promise.expected_from END,
    expected_to = CASE WHEN judged.predicted THEN promise.expected_to END,
    waits_for = CASE WHEN judged.predicted THEN promise.waits_for END,
    waits_for_id = CASE WHEN judged.predicted THEN promise.waits_for_id END,
    waits_minutes = CASE WHEN judged.predicted THEN promise.waits_minutes END
FROM pg_temp.judged
WHERE promise.promise_id = judged.promise_id
