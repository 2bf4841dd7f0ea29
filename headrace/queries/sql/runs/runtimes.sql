-- The mean run time of each process of an instance: its genuine successes of the last days.
SELECT external_name, avg(attempt.end_ts - attempt.start_ts) AS mean
FROM catalog.process
JOIN catalog.process_run run USING (process_id)
JOIN catalog.run_attempt attempt USING (run_id)
WHERE process.organisation_id = %(organisation)s
  AND process.technology = %(technology)s
  AND process.instance = %(instance)s
  AND run.start_ts >= now() - %(days)s * interval '1 day'
  AND attempt.state = 'SUCCESS'
  AND attempt.ending = 'GENUINE'
  AND attempt.end_ts > attempt.start_ts
GROUP BY external_name
