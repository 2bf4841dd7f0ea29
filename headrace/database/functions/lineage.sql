-- Steps through the lineage graph, and columns that inherit sensitivity.

-- Return one step from each node, against the direction of the data (`up`) or with it: what processes read and write,
-- hand to each other, and wait for by their conditions (AWAITS), and datasets made from others by no known process.
CREATE OR REPLACE FUNCTION catalog.process_steps(nodes uuid[], up boolean, at timestamptz)
RETURNS TABLE (near uuid, far uuid, role text, condition text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT source_id, target_id, edge_role, NULL::text
    FROM catalog.lineage_edge
    WHERE NOT up
      AND source_id = ANY (nodes)
      AND (edge_role IN ('CONSUMES', 'PRODUCES')
           OR edge_role = 'DERIVES' AND (target_type = 'PROCESS' OR process_id IS NULL))
      AND valid_from <= at AND (valid_to IS NULL OR valid_to > at)
    UNION ALL
    SELECT target_id, source_id, edge_role, NULL
    FROM catalog.lineage_edge
    WHERE up
      AND target_id = ANY (nodes)
      AND (edge_role IN ('CONSUMES', 'PRODUCES')
           OR edge_role = 'DERIVES' AND (target_type = 'PROCESS' OR process_id IS NULL))
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

-- Return True for the tag of a sensitive column: catalog.schema.is_sensitive_tag is the same in Python.
CREATE OR REPLACE FUNCTION catalog.is_sensitive_tag(tag text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT lower(tag) IN ('pii', 'sensitive') OR lower(tag) ~ '^(gdpr|subject)=.'
$$;

-- Return True if a dataset's declaration tags the column as sensitive.
CREATE OR REPLACE FUNCTION catalog.is_declared_sensitive(of_dataset uuid, of_column text) RETURNS boolean
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT FROM catalog.dataset
        CROSS JOIN LATERAL jsonb_array_elements(columns) AS item
        CROSS JOIN LATERAL jsonb_array_elements_text(
            CASE jsonb_typeof(item -> 'tags') WHEN 'array' THEN item -> 'tags' ELSE '[]' END) AS tag
        WHERE dataset_id = of_dataset AND item ->> 'name' = of_column AND catalog.is_sensitive_tag(tag));
END;

-- Return the provenances of what readers of a dataset get: of its published and pinned versions. Null stands for versions
-- without one, and for a dataset without versions.
CREATE OR REPLACE FUNCTION catalog.published_provenances(of_dataset uuid) RETURNS TABLE (provenance_id uuid)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT DISTINCT version.provenance_id
    FROM (SELECT) one
    LEFT JOIN (
        SELECT dataset_version_id FROM catalog.published_pointer WHERE dataset_id = of_dataset
        UNION ALL
        SELECT dataset_version_id FROM catalog.dataset_pin WHERE dataset_id = of_dataset AND unpinned_at IS NULL
    ) read ON true
    LEFT JOIN catalog.dataset_version version
        ON version.dataset_version_id = read.dataset_version_id
       AND version.dataset_id = of_dataset;  -- follows from the first, and leaves the choice of index
END;

-- Return the datasets that a dataset's values come from, by the provenance of a version or by current reports of other
-- producers (is_reported), with the provenances to follow there: of the versions that were read, or else of what readers
-- get now.
CREATE OR REPLACE FUNCTION catalog.value_sources(of_dataset uuid, provenance uuid)
RETURNS TABLE (dataset_id uuid, provenance_id uuid, is_reported boolean)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT source.dataset_id, input.input_provenance_id, false
    FROM catalog.provenance_input input
    JOIN catalog.dataset_name source ON source.name_id = input.source_name_id
    WHERE input.provenance_id = provenance AND input.input_provenance_id IS NOT NULL
    UNION
    SELECT unread.dataset_id, published.provenance_id, unread.is_reported
    FROM (
        SELECT source.dataset_id, false AS is_reported
        FROM catalog.provenance_input input
        JOIN catalog.dataset_name source ON source.name_id = input.source_name_id
        WHERE input.provenance_id = provenance AND input.input_provenance_id IS NULL
        UNION
        SELECT source.dataset_id, true
        FROM catalog.dataset_name target
        JOIN catalog.column_lineage_report report ON report.target_name_id = target.name_id AND report.via <> 'plan'
        JOIN catalog.column_lineage lineage
            ON lineage.target_name_id = report.target_name_id
           AND lineage.reporter_id = report.reporter_id
           AND lineage.via = report.via
           AND lineage.last_at >= report.last_at
        JOIN catalog.dataset_name source ON source.name_id = lineage.source_name_id
        WHERE target.dataset_id = of_dataset
    ) unread
    CROSS JOIN LATERAL catalog.published_provenances(unread.dataset_id) published;
END;

-- Return the sensitive columns of versions, given by dataset and provenance: tagged ones, those that a steward accepted
-- as sensitive, which count as tagged in the declaration, and those that show values of one, or may show them where their lineage is unknown (certain = false). Each version is judged by its own lineage and
-- by those of the versions it was made from. A masking step ends the inheritance. So does an owner's clearing, for the
-- sources that it was judged on: with another one the column is sensitive again. inherited: it has a source other than
-- its own tag, of which from_key and from_column are one.
-- The function also follows datasets that the caller may not see, since the values are in what they do see; of those it
-- only shows that there is a source (NULL). Without `origins` it keeps only the origins on which a clearing was judged:
-- with all of them it meets a column once for each, too often for many datasets. Each step looks up the few flows of one
-- lineage (DISTINCT makes it a look-up of its own), so that the total number of flows does not matter.
CREATE OR REPLACE FUNCTION catalog.sensitive_columns(
    organisation uuid, datasets uuid[], provenances uuid[], origins boolean
)
RETURNS TABLE (
    dataset_id uuid, provenance_id uuid, column_name text, certain boolean, inherited boolean, from_key text,
    from_column text, sources text[]
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    WITH RECURSIVE above AS (
        SELECT asked.id, asked.provenance FROM unnest(datasets, provenances) AS asked (id, provenance)
        UNION
        SELECT next.dataset_id, next.provenance_id
        FROM above CROSS JOIN LATERAL value_sources(above.id, above.provenance) next
    ), link AS MATERIALIZED (
        SELECT above.id, above.provenance, known.lineage_hash, source.dataset_id AS source_id,
               coalesce(source.provenance_id, source.dataset_id) AS source_place, source.is_reported
        FROM above
        LEFT JOIN provenance known ON known.provenance_id = above.provenance
        CROSS JOIN LATERAL value_sources(above.id, above.provenance) source
    ), clearing AS MATERIALIZED (
        SELECT cleared.dataset_id AS id, cleared.column_name AS name, cleared.sources
        FROM cleared_column cleared
        WHERE cleared.dataset_id IN (SELECT above.id FROM above) AND cleared.withdrawn_at IS NULL
    ), tagged AS MATERIALIZED (
        SELECT each.id, each.name, each.id || ':' || each.name AS origin
        FROM (
            SELECT dataset.dataset_id AS id, item ->> 'name' AS name, item -> 'tags' AS tags, true AS is_declared
            FROM dataset CROSS JOIN LATERAL jsonb_array_elements(dataset.columns) AS item
            WHERE dataset.dataset_id IN (SELECT above.id FROM above)
            UNION ALL
            SELECT stored.dataset_id, stored.column_name, stored.column_metadata -> 'tags', false
            FROM dataset_schema stored
            WHERE stored.dataset_id IN (SELECT above.id FROM above)
            UNION ALL
            SELECT accepted.dataset_id, accepted.column_name, '["pii"]', true
            FROM sensitivity_suggestion accepted
            WHERE accepted.dataset_id IN (SELECT above.id FROM above) AND accepted.status = 'ACCEPTED'
        ) each
        WHERE EXISTS (
            SELECT FROM jsonb_array_elements_text(CASE jsonb_typeof(each.tags) WHEN 'array' THEN each.tags ELSE '[]' END) AS tag
            WHERE catalog.is_sensitive_tag(tag))
          AND (each.is_declared OR NOT EXISTS (
              SELECT FROM clearing
              WHERE clearing.id = each.id AND clearing.name = each.name
                AND each.id || ':' || each.name = ANY (clearing.sources)))
        GROUP BY each.id, each.name
    ), below AS (
        SELECT above.id, above.provenance, coalesce(above.provenance, above.id) AS place, tagged.name, true AS certain,
               CASE WHEN origins OR EXISTS (SELECT FROM clearing WHERE tagged.origin = ANY (clearing.sources))
                    THEN tagged.origin END AS origin
        FROM above JOIN tagged ON tagged.id = above.id
        UNION
        SELECT link.id, link.provenance, coalesce(link.provenance, link.id), next.name, below.certain AND next.certain,
               below.origin
        FROM below
        JOIN link ON link.source_id = below.id AND link.source_place = below.place
        CROSS JOIN LATERAL (
            SELECT DISTINCT flow.target_column AS name, flow.certain
            FROM dataset_name source
            JOIN lineage_flow flow
                ON flow.source_name_id = source.name_id
               AND flow.dataset_id = link.id
               AND flow.lineage_hash = link.lineage_hash
               AND flow.source_column IN (below.name, '')
            WHERE NOT link.is_reported AND source.dataset_id = below.id
            UNION
            SELECT column_of(lineage.target_field), lineage.transformation_subtype <> 'UNKNOWN'
            FROM dataset_name source
            JOIN column_lineage lineage ON lineage.source_name_id = source.name_id
            JOIN dataset_name target ON target.name_id = lineage.target_name_id AND target.dataset_id = link.id
            JOIN column_lineage_report report
                ON report.target_name_id = lineage.target_name_id
               AND report.reporter_id = lineage.reporter_id
               AND report.via = lineage.via
            WHERE link.is_reported
              AND source.dataset_id = below.id
              AND lineage.via <> 'plan'
              AND lineage.last_at >= report.last_at
              AND NOT lineage.masking
              AND (lineage.transformation_type = 'DIRECT' OR lineage.transformation_subtype = 'UNKNOWN')
              AND column_of(lineage.source_field) IN (below.name, '')
              AND lineage.target_field <> ''
        ) next
        WHERE NOT EXISTS (
            SELECT FROM clearing
            WHERE clearing.id = link.id AND clearing.name = next.name AND below.origin = ANY (clearing.sources))
    ), found AS (
        SELECT below.id, below.provenance, below.name, below.certain, below.origin,
               below.origin IS DISTINCT FROM below.id || ':' || below.name AS inherited,
               origin.full_name AS from_key, substr(below.origin, 38) AS from_column,
               caller_organisation() IS NULL OR caller_sees(origin.full_name) AS seen
        FROM below
        LEFT JOIN dataset origin ON origin.dataset_id = left(below.origin, 36)::uuid
        WHERE (below.id, coalesce(below.provenance, below.id))
              IN (SELECT asked.id, coalesce(asked.provenance, asked.id)
                  FROM unnest(datasets, provenances) AS asked (id, provenance))
    )
    SELECT found.id, found.provenance, found.name, bool_or(found.certain), bool_or(found.inherited),
           (array_agg(CASE WHEN seen THEN found.from_key END ORDER BY found.certain DESC, found.from_key, found.from_column)
               FILTER (WHERE found.inherited))[1],
           (array_agg(CASE WHEN seen THEN found.from_column END ORDER BY found.certain DESC, found.from_key, found.from_column)
               FILTER (WHERE found.inherited))[1],
           array_agg(DISTINCT found.origin) FILTER (WHERE found.origin IS NOT NULL)
    FROM found
    JOIN dataset asked ON asked.dataset_id = found.id
    WHERE asked.organisation_id = coalesce(caller_organisation(), organisation)
      AND (caller_organisation() IS NULL OR caller_sees(asked.full_name))
    GROUP BY found.id, found.provenance, found.name
$$;
