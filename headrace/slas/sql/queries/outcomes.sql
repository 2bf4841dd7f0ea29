SELECT kind, ordinal, deadline, partition_key AS partition, outcome, arrived_at,
       extract(epoch FROM arrived_at - deadline)::double precision AS late_by
FROM catalog.sla_outcome
WHERE subject_id IN (
          SELECT dataset_id FROM catalog.dataset WHERE organisation_id = %(organisation)s AND full_name = %(key)s
          UNION ALL
          SELECT process_id FROM catalog.process WHERE organisation_id = %(organisation)s AND process_key = %(key)s
      )
  AND deadline >= %(since)s AND deadline < %(until)s
ORDER BY deadline DESC, kind, ordinal
LIMIT %(limit)s
