-- Triggers name jobs elsewhere.
CREATE INDEX process_job_name ON catalog.process (organisation_id, job_name) WHERE job_name IS NOT NULL;

-- One step from each of these datasets and processes, against the flow (`up`) or with it: what processes read and write, what
-- one hands to another, and which runs after which (AWAITS), by its conditions.
CREATE FUNCTION catalog.process_steps(nodes uuid[], up boolean, at timestamptz)
RETURNS TABLE (near uuid, far uuid, role text, condition text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT source_id, target_id, edge_role, NULL::text
    FROM catalog.lineage_edge
    WHERE NOT up
      AND source_id = ANY (nodes)
      AND (edge_role IN ('CONSUMES', 'PRODUCES') OR edge_role = 'DERIVES' AND target_type = 'PROCESS')
      AND valid_from <= at AND (valid_to IS NULL OR valid_to > at)
    UNION ALL
    SELECT target_id, source_id, edge_role, NULL
    FROM catalog.lineage_edge
    WHERE up
      AND target_id = ANY (nodes)
      AND (edge_role IN ('CONSUMES', 'PRODUCES') OR edge_role = 'DERIVES' AND target_type = 'PROCESS')
      AND valid_from <= at AND (valid_to IS NULL OR valid_to > at)
    UNION ALL
    SELECT upstream.process_id, waiting.process_id, 'AWAITS', waiting.condition
    FROM catalog.process upstream
    JOIN catalog.process_dependency waiting
        ON waiting.organisation_id = upstream.organisation_id
        AND waiting.upstream_technology = upstream.technology
        AND waiting.upstream_instance = upstream.instance
        AND waiting.upstream_name = upstream.external_name
    WHERE NOT up
      AND upstream.process_id = ANY (nodes)
      AND waiting.orders
      AND waiting.valid_from <= at AND (waiting.valid_to IS NULL OR waiting.valid_to > at)
    UNION ALL
    SELECT waiting.process_id, upstream.process_id, 'AWAITS', waiting.condition
    FROM catalog.process_dependency waiting
    JOIN catalog.process upstream
        ON upstream.organisation_id = waiting.organisation_id
        AND upstream.technology = waiting.upstream_technology
        AND upstream.instance = waiting.upstream_instance
        AND upstream.external_name = waiting.upstream_name
    WHERE up
      AND waiting.process_id = ANY (nodes)
      AND waiting.orders
      AND waiting.valid_from <= at AND (waiting.valid_to IS NULL OR waiting.valid_to > at);
END;
CREATE INDEX process_dependency_process ON catalog.process_dependency (process_id);

-- What waits to be told of is there, and what has been told is not: a state says no more. With it goes the index of those
-- that wait.
ALTER TABLE catalog.pending_materialization DROP COLUMN state;
CREATE INDEX pending_materialization_at ON catalog.pending_materialization (at);
CREATE INDEX pending_materialization_event ON catalog.pending_materialization (organisation_id, event_key); -- what is said anew of a run
