SELECT kind, ordinal, at, detected_at, before, state, deadline, partition_key AS partition, reason
FROM catalog.sla_change
WHERE (dataset_id = (SELECT dataset_id FROM catalog.dataset WHERE organisation_id = %(organisation)s AND full_name = %(key)s)
       OR process_id = (SELECT process_id FROM catalog.process
                        WHERE organisation_id = %(organisation)s AND process_key = %(key)s))
  AND at >= %(since)s AND at < %(until)s
ORDER BY at DESC, change_id DESC
LIMIT %(limit)s
