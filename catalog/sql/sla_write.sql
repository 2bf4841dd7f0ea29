WITH judged AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_recordset(%(promises)s) AS item (
        promise_id uuid, state text, since timestamptz, reason text, settled timestamptz, opens_at timestamptz,
        deadline timestamptz, partition_key text, met_at timestamptz, newest_at timestamptz, run_id uuid,
        next_at timestamptz, incident_id uuid, predicted boolean
    )
), changes AS (
    INSERT INTO catalog.sla_change (
        organisation_id, dataset_id, process_id, kind, ordinal, state, before, at, noticed_at, deadline, partition_key, reason
    )
    SELECT %(organisation)s, item.dataset_id, item.process_id, item.kind, item.ordinal, item.state, item.before, item.at,
           %(now)s, item.deadline, item.partition_key, item.reason
    FROM ROWS FROM (jsonb_to_recordset(%(changes)s) AS (
        dataset_id uuid, process_id uuid, kind text, ordinal int, state text, before text, at timestamptz,
        deadline timestamptz, partition_key text, reason text
    )) WITH ORDINALITY AS item (
        dataset_id, process_id, kind, ordinal, state, before, at, deadline, partition_key, reason, place
    )
    ORDER BY place
), outcomes AS (
    INSERT INTO catalog.sla_outcome AS known (
        organisation_id, subject_id, kind, ordinal, deadline, dataset_id, process_id, partition_key, outcome, arrived_at
    )
    SELECT %(organisation)s, coalesce(dataset_id, process_id), kind, ordinal, deadline, dataset_id, process_id,
           partition_key, outcome, arrived_at
    FROM jsonb_to_recordset(%(outcomes)s) AS item (
        dataset_id uuid, process_id uuid, kind text, ordinal int, deadline timestamptz, partition_key text, outcome text,
        arrived_at timestamptz
    )
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
FROM judged
WHERE promise.promise_id = judged.promise_id
