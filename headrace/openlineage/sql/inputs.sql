-- Inputs of versions: a run that reports the version of an input derived its versions from that, if data flows between
-- the two datasets. Includes runs that named a version known only now, or now of a dataset with another name. Inputs
-- that a run no longer reports are removed.
WITH known AS MATERIALIZED (
    SELECT dataset_version_id, dataset_id, version_tag, produced_by_run_id
    FROM catalog.dataset_version
    WHERE dataset_id = ANY (%(merged)s::uuid[])
), written AS MATERIALIZED (
    SELECT dataset_version_id, dataset_id, produced_by_run_id AS run_id
    FROM catalog.dataset_version
    WHERE produced_by_run_id = ANY (%(runs)s::uuid[])
    UNION
    SELECT dataset_version_id, dataset_id, produced_by_run_id FROM known
    UNION
    SELECT version.dataset_version_id, version.dataset_id, version.produced_by_run_id
    FROM (
        SELECT dataset_id, version_tag FROM catalog.dataset_version WHERE dataset_version_id = ANY (%(changed)s::uuid[])
        UNION
        SELECT dataset_id, version_tag FROM known
    ) now_known
    JOIN catalog.dataset_name named USING (dataset_id)
    JOIN catalog.run_dataset used
        ON used.name_id = named.name_id AND used.version = now_known.version_tag AND used.role = 'INPUT'
    JOIN catalog.dataset_version version ON version.produced_by_run_id = used.run_id
), made AS MATERIALIZED (
    SELECT DISTINCT written.dataset_version_id, read.dataset_version_id AS input_version_id
    FROM written
    JOIN catalog.run_dataset used
        ON used.organisation_id = %(organisation)s AND used.run_id = written.run_id AND used.role = 'INPUT'
    JOIN catalog.dataset_name named USING (name_id)
    JOIN catalog.dataset_version read
        ON read.dataset_id = named.dataset_id
       AND read.version_tag = used.version
       AND read.partition_key = used.partition_key
    WHERE read.dataset_version_id <> written.dataset_version_id
      AND EXISTS (
          SELECT FROM catalog.lineage_edge edge
          WHERE edge.source_id = read.dataset_id
            AND edge.target_id = written.dataset_id
            AND edge.edge_role = 'DERIVES'
            AND edge.valid_to IS NULL
      )
), otherwise AS (
    DELETE FROM catalog.version_input input
    USING written
    JOIN catalog.dataset_version version USING (dataset_version_id)
    JOIN catalog.openlineage_run reported
        ON reported.organisation_id = version.organisation_id AND reported.run_id = written.run_id AND NOT reported.native
    WHERE input.dataset_version_id = written.dataset_version_id
      AND starts_with(version.idempotency_key, 'openlineage/')
      AND NOT EXISTS (
          SELECT FROM made
          WHERE made.dataset_version_id = input.dataset_version_id AND made.input_version_id = input.input_version_id
      )
)
INSERT INTO catalog.version_input (dataset_version_id, input_version_id, organisation_id)
SELECT dataset_version_id, input_version_id, %(organisation)s::uuid FROM made
ON CONFLICT DO NOTHING
