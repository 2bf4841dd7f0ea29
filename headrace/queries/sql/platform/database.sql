SELECT current_setting('server_version') AS server_version,
       pg_database_size(current_database()) AS byte_size,
       (SELECT version_num FROM catalog.alembic_version) AS revision,
       (SELECT max(received_at) FROM catalog.run_event
        WHERE organisation_id = %(organisation)s AND event_time > now() - interval '2 days') AS last_event_at,
       (SELECT count(*) FROM catalog.run_event
        WHERE organisation_id = %(organisation)s AND event_time > now() - interval '1 day') AS events_of_a_day,
       (SELECT count(*) FROM catalog.pending_materialization
        WHERE organisation_id = %(organisation)s) AS pending_materializations,
       (SELECT min(at) FROM catalog.pending_materialization
        WHERE organisation_id = %(organisation)s) AS oldest_pending_at,
       (SELECT max(written_at) FROM catalog.archive_file
        WHERE organisation_id = %(organisation)s AND state = 'KEPT') AS archived_at,
       (SELECT min(start_ts) FROM catalog.process_run WHERE organisation_id = %(organisation)s) AS oldest_run_at
