SELECT CASE WHEN objective.dataset_id IS NULL THEN 'PROCESS' ELSE 'DATASET' END AS subject_type, subject.key, objective.dataset_id,
       objective.process_id, subject.owners, objective.kind, objective.ordinal, objective.state, objective.since, objective.reason,
       objective.deadline, objective.partition_key AS partition, objective.met_at, objective.newest_at, objective.miss_probability,
       objective.expected_at, objective.expected_from, objective.expected_to, waited.key AS waits_for, objective.waits_minutes,
       objective.incident_id, objective.definition
FROM catalog.sla_objective objective
CROSS JOIN LATERAL (
    SELECT full_name AS key, owners FROM catalog.dataset WHERE dataset_id = objective.dataset_id
    UNION ALL
    SELECT process_key, owners FROM catalog.process WHERE process_id = objective.process_id
) subject
LEFT JOIN LATERAL ( -- objects hidden from the caller are not named
    SELECT full_name AS key FROM catalog.dataset WHERE dataset_id = objective.waits_for_id
    UNION ALL
    SELECT process_key FROM catalog.process WHERE process_id = objective.waits_for_id
) waited ON objective.waits_for IS NOT NULL
CROSS JOIN LATERAL ( -- `ranked` is empty where the order is by key
    SELECT coalesce(array_position(%(ranked)s::text[], objective.state), 0) AS rank,
           CASE WHEN cardinality(%(ranked)s::text[]) = 0 THEN 'infinity' ELSE coalesce(objective.deadline, 'infinity') END AS due
) place
WHERE objective.organisation_id = %(organisation)s
  AND (cardinality(%(states)s::text[]) = 0 OR objective.state = ANY (%(states)s))
  AND (cardinality(%(kinds)s::text[]) = 0 OR objective.kind = ANY (%(kinds)s))
  AND (cardinality(%(keys)s::text[]) = 0 -- found by id, since the key of each objective would be looked up
       OR objective.dataset_id IN (
           SELECT dataset_id FROM catalog.dataset
           WHERE organisation_id = %(organisation)s AND full_name = ANY (%(keys)s))
       OR objective.process_id IN (
           SELECT process_id FROM catalog.process
           WHERE organisation_id = %(organisation)s AND process_key = ANY (%(keys)s)))
  AND (%(domain)s::text IS NULL OR catalog.domain_of(subject.key) = %(domain)s)
  AND (%(owner)s::text IS NULL OR %(owner)s = ANY (subject.owners))
  AND (place.rank, place.due, subject.key, objective.kind, objective.ordinal)
      > (%(rank)s::int, coalesce(%(due)s::timestamptz, 'infinity'), %(key)s::text COLLATE "C", %(kind)s::text COLLATE "C", %(ordinal)s::int)
ORDER BY place.rank, place.due, subject.key, objective.kind, objective.ordinal
LIMIT %(limit)s
