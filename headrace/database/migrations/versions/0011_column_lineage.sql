-- What the plan of a run says of where columns come from. A version names what is known of its columns by a hash, as it
-- does its schema; most versions of a dataset share it.
CREATE TABLE catalog.dataset_lineage (
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    lineage_hash    text COLLATE "C" NOT NULL,
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    content         jsonb NOT NULL,
    column_count    integer NOT NULL,
    known_count     integer NOT NULL CHECK (known_count BETWEEN 0 AND column_count),
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (dataset_id, lineage_hash)
);
ALTER TABLE catalog.dataset_version ADD COLUMN lineage_hash text COLLATE "C";

-- Rows by way of 'plan' are of published versions. They do not come from events; each is said from first_at to last_at
-- without a break, and a source that comes back has a new row. A column of which nothing is known has a row for whatever
-- may be in it, with transformation_subtype UNKNOWN and the reason as description.
ALTER TABLE catalog.column_lineage
    ADD COLUMN confidence real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    ADD COLUMN origin     text NOT NULL DEFAULT 'REPORTED' CHECK (origin IN ('PLAN', 'SQL', 'DECLARED', 'REPORTED')),
    DROP CONSTRAINT column_lineage_via_check,
    ADD CONSTRAINT column_lineage_via_check CHECK (via IN ('columnLineage', 'lineage', 'plan'));
ALTER TABLE catalog.column_lineage_report
    ADD COLUMN lineage_hash text COLLATE "C",
    DROP CONSTRAINT column_lineage_report_via_check,
    ADD CONSTRAINT column_lineage_report_via_check CHECK (via IN ('columnLineage', 'lineage', 'plan'));

CREATE OR REPLACE VIEW catalog.column_edge WITH (security_invoker = true) AS
SELECT column_lineage_id, lineage.organisation_id, lineage.process_id, lineage.target_name_id,
       source.dataset_id AS source_id, coalesce(nullif(source_field, ''), '*') AS source_field,
       target.dataset_id AS target_id, coalesce(nullif(target_field, ''), '*') AS target_field,
       nullif(transformation_type, '') AS transformation_type,
       nullif(transformation_subtype, '') AS transformation_subtype,
       nullif(transformation_description, '') AS transformation_description, masking, run_id, first_at,
       lineage.last_at >= said.last_at AS current, lineage.confidence
FROM catalog.column_lineage lineage
JOIN catalog.dataset_name source ON source.name_id = lineage.source_name_id
JOIN catalog.dataset_name target ON target.name_id = lineage.target_name_id
JOIN catalog.column_lineage_report said
    ON said.target_name_id = lineage.target_name_id
   AND said.reporter_id = lineage.reporter_id
   AND said.via = lineage.via;

-- An owner's word that a column does not show what it is made from, until it is withdrawn. Rows are kept.
CREATE TABLE catalog.cleared_column (
    clearing_id     uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    dataset_id      uuid NOT NULL REFERENCES catalog.dataset,
    column_name     text NOT NULL,
    cleared_by      text NOT NULL,
    reason          text NOT NULL CHECK (reason <> ''),
    cleared_at      timestamptz NOT NULL DEFAULT now(),
    withdrawn_by    text,
    withdrawn_at    timestamptz
);
CREATE UNIQUE INDEX cleared_column_current ON catalog.cleared_column (dataset_id, column_name) WHERE withdrawn_at IS NULL;
CREATE TRIGGER note_change AFTER INSERT OR UPDATE ON catalog.cleared_column
    FOR EACH ROW EXECUTE FUNCTION catalog.note_change('dataset_id');

-- The name of the column that a path of fields begins with: `a` of a.b, `odd.name` of "`odd.name`.b".
CREATE FUNCTION catalog.column_of(field text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN left(field, 1) = '`' THEN replace(substring(field FROM '^`((?:[^`]|``)+)`'), '``', '`')
                ELSE split_part(field, '.', 1) END
$$;

-- Columns that are sensitive because of what they are made from: the values of a sensitive column come out in them, or may,
-- where it is not known what is in them (certain = false). A masking step ends it, and an owner's clearing. It looks at
-- datasets that the caller may not see, since their values are no less present in what they see; what it tells of those is only
-- that there is something (NULL). Without `origins` it does not say from where, and has the columns that are tagged themselves
-- as well: with them a column is met once for each that it is made from, which of many datasets is too often. Each step looks
-- up the few edges of one dataset (DISTINCT keeps it a look-up of its own), so that it does not count how many there are in all.
CREATE FUNCTION catalog.inherited_columns(organisation uuid, datasets uuid[], origins boolean)
RETURNS TABLE (dataset_id uuid, column_name text, certain boolean, from_key text, from_column text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    WITH RECURSIVE edge AS NOT MATERIALIZED (
        SELECT source.dataset_id AS source_id, column_of(lineage.source_field) AS source_column,
               target.dataset_id AS target_id, column_of(lineage.target_field) AS target_column,
               lineage.transformation_subtype <> 'UNKNOWN' AS certain
        FROM column_lineage lineage
        JOIN dataset_name source ON source.name_id = lineage.source_name_id
        JOIN dataset_name target ON target.name_id = lineage.target_name_id
        JOIN column_lineage_report said
            ON said.target_name_id = lineage.target_name_id AND said.reporter_id = lineage.reporter_id AND said.via = lineage.via
        WHERE lineage.last_at >= said.last_at
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

SELECT catalog.protect();
