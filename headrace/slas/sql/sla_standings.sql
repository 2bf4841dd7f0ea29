SELECT CASE WHEN promise.dataset_id IS NULL THEN 'PROCESS' ELSE 'DATASET' END AS subject_type, subject.key, promise.dataset_id,
       promise.process_id, subject.owners, promise.kind, promise.ordinal, promise.state, promise.since, promise.reason,
       promise.deadline, promise.partition_key AS partition, promise.met_at, promise.newest_at, promise.chance,
       promise.expected_at, promise.expected_from, promise.expected_to, waited.key AS waits_for, promise.waits_minutes,
       promise.incident_id, promise.definition
FROM catalog.sla_promise promise
CROSS JOIN LATERAL (
    SELECT full_name AS key, owners FROM catalog.dataset WHERE dataset_id = promise.dataset_id
    UNION ALL
    SELECT process_key, owners FROM catalog.process WHERE process_id = promise.process_id
) subject
LEFT JOIN LATERAL ( -- what the caller does not see is not named
    SELECT full_name AS key FROM catalog.dataset WHERE dataset_id = promise.waits_for_id
    UNION ALL
    SELECT process_key FROM catalog.process WHERE process_id = promise.waits_for_id
) waited ON promise.waits_for IS NOT NULL
WHERE promise.organisation_id = %(organisation)s
  AND (cardinality(%(states)s::text[]) = 0 OR promise.state = ANY (%(states)s))
  AND (cardinality(%(kinds)s::text[]) = 0 OR promise.kind = ANY (%(kinds)s))
  AND (cardinality(%(keys)s::text[]) = 0 OR subject.key = ANY (%(keys)s))
  AND (%(domain)s::text IS NULL OR catalog.domain_of(subject.key) = %(domain)s)
  AND (%(owner)s::text IS NULL OR %(owner)s = ANY (subject.owners))
  AND (subject.key, promise.kind, promise.ordinal) > (%(key)s::text COLLATE "C", %(kind)s::text COLLATE "C", %(ordinal)s::int)
ORDER BY subject.key, promise.kind, promise.ordinal
LIMIT %(limit)s
