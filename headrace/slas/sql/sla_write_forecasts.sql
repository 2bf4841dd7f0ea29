WITH looked AS (
    SELECT promise_id FROM unnest(%(looked)s::uuid[]) AS wanted (promise_id)
), foreseen AS (
    SELECT *
    FROM jsonb_to_recordset(%(promises)s) AS item (
        promise_id uuid, chance double precision, expected_at timestamptz, expected_from timestamptz, expected_to timestamptz,
        waits_for text, waits_for_id uuid, waits_minutes double precision
    )
)
UPDATE catalog.sla_promise promise
SET foreseen_at = %(now)s, chance = foreseen.chance, expected_at = foreseen.expected_at,
    expected_from = foreseen.expected_from, expected_to = foreseen.expected_to, waits_for = foreseen.waits_for,
    waits_for_id = foreseen.waits_for_id, waits_minutes = foreseen.waits_minutes,
    next_at = CASE WHEN (promise.state = 'AT_RISK' AND coalesce(foreseen.chance, 0) < 0.25)
                     OR (promise.state <> 'AT_RISK' AND foreseen.chance >= 0.5)
                   THEN least(promise.next_at, %(now)s) ELSE promise.next_at END
FROM looked
LEFT JOIN foreseen USING (promise_id)
WHERE promise.promise_id = looked.promise_id
