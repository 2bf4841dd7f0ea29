SELECT kind, ordinal, (deadline AT TIME ZONE 'UTC')::date AS day,
       count(*) FILTER (WHERE outcome = 'MET') AS met, count(*) FILTER (WHERE outcome = 'MET_LATE') AS met_late,
       count(*) FILTER (WHERE outcome = 'MISSED') AS missed, count(*) FILTER (WHERE outcome = 'PAUSED') AS paused,
       max(extract(epoch FROM arrived_at - deadline)::double precision) FILTER (WHERE outcome = 'MET_LATE') AS latest
FROM catalog.sla_outcome
WHERE subject_id IN (
          SELECT dataset_id FROM catalog.dataset WHERE organisation_id = %(organisation)s AND full_name = %(key)s
          UNION ALL
          SELECT process_id FROM catalog.process WHERE organisation_id = %(organisation)s AND process_key = %(key)s
      )
  AND deadline >= %(since)s AND deadline < %(until)s
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
