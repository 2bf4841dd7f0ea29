SELECT event_key, run_id, process_id, run, attempt, state, status, ending, at, started_at, exit_code, machine, reason,
       log_location, partition_key, box_process_id, outputs, historical
FROM catalog.reported_event
WHERE run_id = ANY (%(run_ids)s)
  AND NOT starts_with(event_key, 'openlineage/')  -- of these runs their documents tell
