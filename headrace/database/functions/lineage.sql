-- Steps through the lineage graph, and columns that inherit sensitivity.

-- Return one step from each node, against the direction of the data (`up`) or with it: what processes read and write,
-- hand to each other, and wait for by their conditions (AWAITS).
CREATE OR REPLACE FUNCTION catalog.process_steps(nodes uuid[], up boolean, at timestamptz)
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

-- Return the column that a path of fields begins with: `a` of a.b, `odd.name` of "`odd.name`.b".
CREATE OR REPLACE FUNCTION catalog.column_of(field text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN left(field, 1) = '`' THEN replace(substring(field FROM '^`((?:[^`]|``)+)`'), '``', '`')
                ELSE split_part(field, '.', 1) END
$$;

-- Return the columns that are sensitive because of their sources: they show values of a sensitive column, or may show
-- them where their lineage is unknown (certain = false). A masking step, and an owner's clearing, end the inheritance.
-- The function also follows datasets that the caller may not see, since the values are in what they do see; of those it
-- only shows that there is a source (NULL). Without `origins` it returns no sources, and includes the columns that are
-- tagged themselves: with sources it meets a column once for each, too often for many datasets. Each step looks up the
-- few edges of one dataset (DISTINCT makes it a look-up of its own), so that the total number of edges does not matter.
CREATE OR REPLACE FUNCTION catalog.inherited_columns(organisation uuid, datasets uuid[], origins boolean)
RETURNS TABLE (dataset_id uuid, column_name text, certain boolean, from_key text, from_column text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    WITH RECURSIVE edge AS NOT MATERIALIZED (
        SELECT source.dataset_id AS source_id, column_of(lineage.source_field) AS source_column,
               target.dataset_id AS target_id, column_of(lineage.target_field) AS target_column,
               lineage.transformation_subtype <> 'UNKNOWN' AS certain
        FROM column_lineage lineage
        JOIN dataset_name source ON source.name_id = lineage.source_name_id
        JOIN dataset_name target ON target.name_id = lineage.target_name_id
        JOIN column_lineage_report report
            ON report.target_name_id = lineage.target_name_id
           AND report.reporter_id = lineage.reporter_id
           AND report.via = lineage.via
        WHERE lineage.last_at >= report.last_at
          AND NOT lineage.masking
          AND (lineage.transformation_type = 'DIRECT' OR lineage.transformation_subtype = 'UNKNOWN')
          AND lineage.organisation_id = coalesce(caller_organisation(), organisation)
    ), above AS (
        SELECT unnest(datasets) AS id
        UNION
        SELECT next.id FROM above CROSS JOIN LATERAL (
            SELECT DISTINCT edge.source_id AS id FROM edge WHERE edge.target_id = above.id
        ) next
    ), tagged AS MATERIALIZED (
        SELECT above.id, each.name
        FROM above
        JOIN dataset ON dataset.dataset_id = above.id
        CROSS JOIN LATERAL (
            SELECT item ->> 'name' AS name, item -> 'tags' AS tags
            FROM jsonb_array_elements(dataset.columns) AS item
            UNION ALL
            SELECT stored.column_name, stored.column_metadata -> 'tags'
            FROM dataset_schema stored
            WHERE stored.dataset_id = above.id
              AND NOT EXISTS (
                  SELECT FROM cleared_column cleared
                  WHERE cleared.dataset_id = above.id AND cleared.column_name = stored.column_name
                    AND cleared.withdrawn_at IS NULL)
        ) each
        WHERE EXISTS (
            SELECT FROM jsonb_array_elements_text(CASE jsonb_typeof(each.tags) WHEN 'array' THEN each.tags ELSE '[]' END) AS tag
            WHERE lower(tag) IN ('pii', 'sensitive'))
        GROUP BY above.id, each.name
    ), below AS (
        SELECT id, name, CASE WHEN origins THEN id END AS from_id, CASE WHEN origins THEN name END AS from_name, true AS certain
        FROM tagged
        UNION
        SELECT next.id, next.name, below.from_id, below.from_name, below.certain AND next.certain
        FROM below
        CROSS JOIN LATERAL (
            SELECT DISTINCT edge.target_id AS id, edge.target_column AS name, edge.certain
            FROM edge
            WHERE edge.source_id = below.id AND edge.source_column IN (below.name, '') AND edge.target_column <> ''
        ) next
        WHERE next.id IN (SELECT id FROM above)
          AND NOT EXISTS (
              SELECT FROM cleared_column cleared
              WHERE cleared.dataset_id = next.id AND cleared.column_name = next.name AND cleared.withdrawn_at IS NULL)
    )
    SELECT below.id, below.name, bool_or(below.certain),
           (array_agg(CASE WHEN seen THEN origin.full_name END ORDER BY below.certain DESC, origin.full_name, below.from_name))[1],
           (array_agg(CASE WHEN seen THEN below.from_name END ORDER BY below.certain DESC, origin.full_name, below.from_name))[1]
    FROM below
    JOIN dataset asked ON asked.dataset_id = below.id
    LEFT JOIN dataset origin ON origin.dataset_id = below.from_id
    CROSS JOIN LATERAL (
        SELECT caller_organisation() IS NULL OR caller_sees(origin.full_name) AS seen
    ) shown
    WHERE below.id = ANY (datasets)
      AND (caller_organisation() IS NULL OR caller_sees(asked.full_name))
      AND (below.id, below.name) IS DISTINCT FROM (below.from_id, below.from_name)
    GROUP BY below.id, below.name
$$;
