SELECT kind, ordinal, count(*) AS deadlines, count(*) FILTER (WHERE outcome = 'MET') AS met,
       count(*) FILTER (WHERE outcome = 'MET_LATE') AS met_late, count(*) FILTER (WHERE outcome = 'MISSED') AS missed,
       count(*) FILTER (WHERE outcome = 'PAUSED') AS paused,
       count(*) FILTER (WHERE outcome = 'MET')::double precision / nullif(count(*) FILTER (WHERE outcome <> 'PAUSED'), 0) AS kept,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM deadline - arrived_at)::double precision)
           FILTER (WHERE outcome = 'MET') AS earlier,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM arrived_at - deadline)::double precision)
           FILTER (WHERE outcome = 'MET_LATE') AS late,
       max(extract(epoch FROM arrived_at - deadline)::double precision) FILTER (WHERE outcome = 'MET_LATE') AS latest
FROM catalog.sla_outcome
WHERE subject_id IN (
          SELECT dataset_id FROM catalog.dataset WHERE organisation_id = %(organisation)s AND full_name = %(key)s
          UNION ALL
          SELECT process_id FROM catalog.process WHERE organisation_id = %(organisation)s AND process_key = %(key)s
      )
  AND deadline >= %(since)s AND deadline < %(until)s
GROUP BY kind, ordinal
ORDER BY kind, ordinal
