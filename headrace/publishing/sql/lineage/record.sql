-- Rows that are no longer reported end just before now; unchanged ones continue; new ones begin. Both sides are
-- grouped, not joined: PostgreSQL does not know how many rows the JSON has.
WITH item AS MATERIALIZED (
    SELECT item.*, greatest(item.at, report.last_at + interval '1 microsecond') AS now, report.last_at AS before
    FROM jsonb_to_recordset(%(lineages)s) AS item (name_id uuid, reporter_id uuid, hash text, at timestamptz)
    JOIN catalog.column_lineage_report report
        ON report.target_name_id = item.name_id AND report.reporter_id = item.reporter_id AND report.via = 'plan'
    WHERE report.lineage_hash IS DISTINCT FROM item.hash
), edge AS MATERIALIZED (
    SELECT name_id, target_field, source_name_id, source_field, type, subtype, description, masking, confidence, origin,
           (array_agg(existing_id) FILTER (WHERE existing_id IS NOT NULL))[1] AS existing_id,
           bool_or(existing_id IS NULL) AS is_reported
    FROM (
        SELECT edge.name_id, edge.target_field, edge.source_name_id, edge.source_field, edge.type, edge.subtype,
               edge.description, edge.masking, edge.confidence, edge.origin, NULL::uuid AS existing_id
        FROM jsonb_to_recordset(%(edges)s) AS edge (
            name_id uuid, target_field text, source_name_id uuid, source_field text, type text, subtype text,
            description text, masking boolean, confidence real, origin text
        )
        WHERE edge.source_name_id IN (
            SELECT source.name_id FROM catalog.dataset_name source WHERE source.organisation_id = %(organisation)s
              AND source.name_id = ANY (ARRAY(
                  SELECT (named ->> 'name_id')::uuid FROM jsonb_array_elements(%(names)s::jsonb) AS named)))
        UNION ALL
        SELECT target_name_id, target_field, source_name_id, source_field, transformation_type, transformation_subtype,
               transformation_description, masking, confidence, origin, column_lineage_id
        FROM item
        JOIN catalog.column_lineage lineage
            ON lineage.target_name_id = item.name_id AND lineage.reporter_id = item.reporter_id AND lineage.via = 'plan'
           AND lineage.last_at >= item.before
    ) both_sides
    GROUP BY name_id, target_field, source_name_id, source_field, type, subtype, description, masking, confidence, origin
), report AS (
    UPDATE catalog.column_lineage_report report
    SET last_at = item.now, lineage_hash = item.hash
    FROM item
    WHERE report.target_name_id = item.name_id AND report.reporter_id = item.reporter_id AND report.via = 'plan'
), stood AS (
    UPDATE catalog.column_lineage lineage
    SET last_at = CASE WHEN edge.is_reported THEN item.now ELSE item.now - interval '1 microsecond' END
    FROM edge
    JOIN item USING (name_id)
    WHERE lineage.column_lineage_id = edge.existing_id
)
INSERT INTO catalog.column_lineage (
    column_lineage_id, organisation_id, reporter_id, process_id, target_name_id, target_field, source_name_id, source_field, via,
    transformation_type, transformation_subtype, transformation_description, masking, run_id, first_at, last_at, confidence,
    origin
)
SELECT gen_random_uuid(), %(organisation)s, reporter_id, %(process_id)s, name_id, target_field, source_name_id, source_field,
       'plan', type, subtype, description, masking, %(run_id)s, now, now, confidence, origin
FROM edge
JOIN item USING (name_id)
WHERE existing_id IS NULL
