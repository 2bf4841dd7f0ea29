WITH looked AS (
    SELECT objective_id FROM unnest(%(looked)s::uuid[]) AS wanted (objective_id)
), forecasted AS (
    SELECT *
    FROM jsonb_to_recordset(%(objectives)s) AS item (
        objective_id uuid, miss_probability double precision, expected_at timestamptz, expected_from timestamptz, expected_to timestamptz,
        waits_for text, waits_for_id uuid, waits_minutes double precision
    )
)
UPDATE catalog.sla_objective objective
SET forecast_at = %(now)s, miss_probability = forecasted.miss_probability, expected_at = forecasted.expected_at,
    expected_from = forecasted.expected_from, expected_to = forecasted.expected_to, waits_for = forecasted.waits_for,
    waits_for_id = forecasted.waits_for_id, waits_minutes = forecasted.waits_minutes,
    next_at = CASE WHEN (objective.state = 'AT_RISK' AND coalesce(forecasted.miss_probability, 0) < 0.25)
                     OR (objective.state <> 'AT_RISK' AND forecasted.miss_probability >= 0.5)
                   THEN least(objective.next_at, %(now)s) ELSE objective.next_at END
FROM looked
LEFT JOIN forecasted USING (objective_id)
WHERE objective.objective_id = looked.objective_id
