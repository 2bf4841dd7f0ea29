SELECT incident.incident_id, incident.cause_type, incident.cause_key AS cause, coalesce(dataset.owners, process.owners) AS owners,
       incident.reason, incident.severity, incident.run_id, incident.opened_at, incident.closed_at,
       incident.part_of, member.members, below.downstream
FROM (
    SELECT *
    FROM catalog.incident
    WHERE organisation_id = %(organisation)s
      AND (NOT %(open_only)s::boolean OR closed_at IS NULL)
      AND (%(key)s::text IS NULL OR cause_key = %(key)s OR incident_id IN (
          SELECT unnest(ARRAY[event.incident_id, whole.part_of])
          FROM catalog.alert_event event
          JOIN catalog.incident whole USING (incident_id)
          WHERE event.organisation_id = %(organisation)s AND event.subject = %(key)s))
      AND (%(incident)s::uuid IS NULL OR incident_id = %(incident)s)
      AND (%(part_of)s::uuid IS NULL OR part_of = %(part_of)s)
      AND (opened_at, incident_id) < (%(before)s, %(before_id)s)
    ORDER BY opened_at DESC, incident_id DESC
    LIMIT %(limit)s
) incident
LEFT JOIN catalog.dataset USING (dataset_id)
LEFT JOIN catalog.process ON process.process_id = incident.process_id
LEFT JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object(
        'subject_type', subject_type, 'key', subject, 'owners', happened.owners, 'state', kind) ORDER BY subject) AS members
    FROM (
        SELECT DISTINCT ON (subject_type, subject) subject_type, subject, owners, kind
        FROM (
            SELECT incident.incident_id
            UNION ALL
            SELECT part.incident_id FROM catalog.incident part WHERE part.part_of = incident.incident_id
        ) made
        JOIN catalog.alert_event USING (incident_id)
        WHERE kind NOT IN ('INCIDENT_CLOSED', 'INCIDENT_MERGED')
        ORDER BY subject_type, subject, alert_event_id DESC
    ) happened
) member ON true
LEFT JOIN LATERAL (
    WITH RECURSIVE walk (node, depth) AS (
        SELECT coalesce(incident.dataset_id, incident.process_id), 0
        UNION
        SELECT edge.target_id, walk.depth + 1
        FROM walk
        CROSS JOIN LATERAL (
            SELECT target_id
            FROM catalog.lineage_edge
            WHERE source_id = walk.node AND valid_to IS NULL AND edge_role IN ('CONSUMES', 'PRODUCES', 'DERIVES')
            UNION ALL
            SELECT dependency.process_id
            FROM catalog.process upstream
            JOIN catalog.process_dependency dependency
                ON dependency.organisation_id = upstream.organisation_id
               AND dependency.upstream_technology = upstream.technology
               AND dependency.upstream_instance = upstream.instance
               AND dependency.upstream_name = upstream.external_name
            WHERE upstream.process_id = walk.node AND dependency.valid_to IS NULL AND dependency.orders
        ) edge
        WHERE walk.depth < 20
    )
    SELECT jsonb_agg(jsonb_build_object(
        'subject_type', 'DATASET', 'key', full_name, 'owners', owners, 'state', coalesce(state, '')) ORDER BY full_name) AS downstream
    FROM (
        SELECT hit.full_name, hit.owners, worst.state
        FROM (SELECT DISTINCT node FROM walk WHERE depth > 0) found
        JOIN catalog.dataset hit ON hit.dataset_id = found.node
        LEFT JOIN LATERAL (
            SELECT state
            FROM catalog.sla_objective
            WHERE dataset_id = hit.dataset_id
            ORDER BY array_position(ARRAY['LATE', 'MISSED', 'AT_RISK', 'UNKNOWN', 'MET_LATE', 'PAUSED'], state)
            LIMIT 1
        ) worst ON true
        ORDER BY hit.full_name
        LIMIT 200
    ) datasets
) below ON true
ORDER BY incident.opened_at DESC, incident.incident_id DESC
