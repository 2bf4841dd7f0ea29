-- The provenance of each draft with lineage, stored if it is new. `sources` are the datasets whose values flow into it.
WITH item AS MATERIALIZED (
    SELECT item.*, dataset.dataset_id
    FROM jsonb_to_recordset(%(lineages)s) AS item (ordinal integer, dataset text, hash text, inputs uuid[], sources jsonb)
    JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = item.dataset
), source AS MATERIALIZED (
    SELECT item.ordinal, source.name_id, coalesce(named.dataset_id, dataset.dataset_id) AS dataset_id
    FROM item
    CROSS JOIN LATERAL jsonb_to_recordset(item.sources) AS source (name_id uuid, dataset text)
    LEFT JOIN catalog.dataset_name named ON named.name_id = source.name_id
    LEFT JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = source.dataset
), input AS MATERIALIZED (
    SELECT DISTINCT source.ordinal, source.name_id, version.provenance_id
    FROM item
    CROSS JOIN LATERAL unnest(item.inputs) AS read (version_id)
    JOIN catalog.dataset_version version ON version.dataset_version_id = read.version_id
    JOIN source ON source.ordinal = item.ordinal AND source.dataset_id = version.dataset_id
), made AS MATERIALIZED (
    SELECT ordinal, dataset_id, hash, lineages, md5(concat_ws(' ', dataset_id, hash, lineages))::uuid AS provenance_id
    FROM item
    CROSS JOIN LATERAL (
        SELECT array_agg(lineage ORDER BY lineage) AS lineages
        FROM (
            SELECT md5(concat_ws(' ', item.dataset_id, item.hash))::uuid AS lineage
            UNION
            SELECT unnest(known.lineages)
            FROM input JOIN catalog.provenance known USING (provenance_id)
            WHERE input.ordinal = item.ordinal
        ) own_and_inherited
    ) reached
), stored AS (
    INSERT INTO catalog.provenance (provenance_id, organisation_id, dataset_id, lineage_hash, lineages)
    SELECT DISTINCT provenance_id, %(organisation)s::uuid, dataset_id, hash, lineages
    FROM made
    WHERE NOT EXISTS (SELECT FROM catalog.provenance known WHERE known.provenance_id = made.provenance_id)
    ORDER BY provenance_id
    ON CONFLICT DO NOTHING
), link AS (
    INSERT INTO catalog.provenance_input (provenance_id, source_name_id, input_provenance_id, organisation_id)
    SELECT DISTINCT made.provenance_id, source.name_id, input.provenance_id, %(organisation)s::uuid
    FROM made
    JOIN source USING (ordinal)
    LEFT JOIN input USING (ordinal, name_id)
    WHERE NOT EXISTS (
        SELECT FROM catalog.provenance_input known
        WHERE known.provenance_id = made.provenance_id
          AND known.source_name_id = source.name_id
          AND known.input_provenance_id IS NOT DISTINCT FROM input.provenance_id)
    ORDER BY 1, 2, 3
    ON CONFLICT DO NOTHING
)
SELECT ordinal, provenance_id FROM made
