WITH sla AS (
    UPDATE catalog.sla SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), objective AS (
    UPDATE catalog.sla_objective SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), change AS (
    UPDATE catalog.sla_change SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), outcome AS (
    UPDATE catalog.sla_outcome SET subject_id = %(into)s, dataset_id = %(into)s WHERE subject_id = %(old)s
), arrivals AS (
    UPDATE catalog.sla_arrival_history SET subject_id = %(into)s WHERE subject_id = %(old)s
), incident AS (
    UPDATE catalog.incident SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), alert AS (
    UPDATE catalog.alert SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), alert_event AS (
    UPDATE catalog.alert_event SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), def AS (
    UPDATE catalog.quality_check_def SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), pin AS (
    UPDATE catalog.dataset_pin
    SET dataset_id = CASE dataset_id WHEN %(old)s THEN %(into)s::uuid ELSE dataset_id END,
        consumer_id = CASE consumer_id WHEN %(old)s THEN %(into)s::uuid ELSE consumer_id END
    WHERE dataset_id = %(old)s OR consumer_id = %(old)s
), registration AS (
    UPDATE catalog.dataset_registration SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), candidate AS (
    UPDATE catalog.dataset_candidate SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), lineage AS (
    DELETE FROM catalog.dataset_lineage WHERE dataset_id = %(old)s
    RETURNING lineage_hash, organisation_id, content, column_count, known_count, created_at
), lineage_of_both AS (
    INSERT INTO catalog.dataset_lineage (
        dataset_id, lineage_hash, organisation_id, content, column_count, known_count, created_at
    )
    SELECT %(into)s, lineage.* FROM lineage
    ON CONFLICT DO NOTHING
), flow AS (
    DELETE FROM catalog.lineage_flow WHERE dataset_id = %(old)s
    RETURNING lineage_hash, source_name_id, source_column, target_column, certain, organisation_id
), flow_of_both AS (
    INSERT INTO catalog.lineage_flow (
        dataset_id, lineage_hash, source_name_id, source_column, target_column, certain, organisation_id
    )
    SELECT %(into)s, flow.* FROM flow
    ON CONFLICT DO NOTHING
), provenance AS (
    UPDATE catalog.provenance SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), retirement AS (
    UPDATE catalog.dataset_retirement SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), cleared AS (
    UPDATE catalog.cleared_column
    SET dataset_id = CASE dataset_id WHEN %(old)s THEN %(into)s::uuid ELSE dataset_id END,
        sources = ARRAY(
            SELECT CASE left(source, 36) WHEN %(old)s::text THEN %(into)s::text || substr(source, 37) ELSE source END
            FROM unnest(sources) AS source)
    WHERE dataset_id = %(old)s
       OR EXISTS (SELECT FROM unnest(sources) AS source WHERE left(source, 36) = %(old)s::text)
), suggestion AS (
    UPDATE catalog.sensitivity_suggestion SET dataset_id = %(into)s WHERE dataset_id = %(old)s
), reported AS (
    UPDATE catalog.pending_materialization SET subject_id = %(into)s WHERE subject_id = %(old)s
)
UPDATE catalog.dataset_name SET dataset_id = %(into)s WHERE dataset_id = %(old)s
