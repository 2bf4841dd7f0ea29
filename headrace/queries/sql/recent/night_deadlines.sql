-- The deadlines of a time with their outcome, or with the present status and forecast of those that are still open.
WITH found AS (
    SELECT dataset_id, process_id, kind, deadline, outcome AS state, arrived_at, NULL::timestamptz AS expected_at
    FROM catalog.sla_outcome
    WHERE organisation_id = %(organisation)s AND deadline >= %(since)s AND deadline < %(until)s
    UNION ALL
    SELECT dataset_id, process_id, kind, deadline, state, met_at, expected_at
    FROM catalog.sla_objective AS objective
    WHERE organisation_id = %(organisation)s AND deadline >= %(since)s AND deadline < %(until)s
      AND NOT EXISTS (
          SELECT FROM catalog.sla_outcome AS passed
          WHERE passed.subject_id = coalesce(objective.dataset_id, objective.process_id)
            AND passed.kind = objective.kind AND passed.ordinal = objective.ordinal
            AND passed.deadline = objective.deadline)
)
SELECT CASE WHEN found.dataset_id IS NULL THEN 'PROCESS' ELSE 'DATASET' END AS subject_type, subject.key,
       subject.process_keys, found.kind, found.deadline, found.state, found.arrived_at, found.expected_at
FROM found
CROSS JOIN LATERAL (
    SELECT full_name AS key,
           ARRAY (SELECT process.process_key
                  FROM catalog.lineage_edge AS edge
                  JOIN catalog.process ON process.process_id = edge.source_id
                  WHERE edge.target_id = dataset.dataset_id AND edge.source_type = 'PROCESS'
                    AND edge.edge_role = 'PRODUCES' AND edge.valid_to IS NULL
                  ORDER BY process.process_key) AS process_keys
    FROM catalog.dataset WHERE dataset_id = found.dataset_id
    UNION ALL
    SELECT process_key, ARRAY[process_key] FROM catalog.process WHERE process_id = found.process_id
) AS subject
WHERE %(words)s = '' OR position(%(words)s IN lower(concat_ws(' ', subject.key, array_to_string(subject.process_keys, ' ')))) > 0
ORDER BY found.deadline, subject.key
LIMIT %(limit)s
