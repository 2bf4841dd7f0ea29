-- Every sensitive or cleared column of what readers of these datasets get, and why.
WITH asked AS MATERIALIZED (
    SELECT dataset.dataset_id, full_name, columns, published.provenance_id
    FROM catalog.dataset
    CROSS JOIN LATERAL catalog.published_provenances(dataset.dataset_id) published
    WHERE dataset.organisation_id = %(organisation)s AND full_name = ANY (%(datasets)s)
), sensitive AS MATERIALIZED (
    SELECT dataset_id, column_name, bool_or(certain) AS certain,
           bool_or(dataset_id || ':' || column_name = ANY (sources)) AS tagged,
           (array_agg(from_key ORDER BY certain DESC, from_key, from_column) FILTER (WHERE inherited))[1] AS from_key,
           (array_agg(from_column ORDER BY certain DESC, from_key, from_column) FILTER (WHERE inherited))[1] AS from_column
    FROM catalog.sensitive_columns(
        %(organisation)s, ARRAY(SELECT dataset_id FROM asked), ARRAY(SELECT provenance_id FROM asked), true)
    GROUP BY dataset_id, column_name
), cleared AS (
    SELECT dataset_id, column_name, cleared_by, reason, cleared_at
    FROM catalog.cleared_column
    WHERE withdrawn_at IS NULL AND dataset_id IN (SELECT dataset_id FROM asked)
), accepted AS (
    SELECT dataset_id, column_name, decided_by, coalesce(note, 'may be: ' || kind) AS reason, decided_at
    FROM catalog.sensitivity_suggestion
    WHERE status = 'ACCEPTED'
      AND dataset_id IN (SELECT dataset_id FROM asked)
      AND NOT catalog.is_declared_sensitive(dataset_id, column_name)
)
SELECT full_name AS dataset, column_name AS column,
       CASE WHEN sensitive.dataset_id IS NULL THEN 'CLEARED'
            WHEN accepted.dataset_id IS NOT NULL THEN 'ACCEPTED'
            WHEN cleared.dataset_id IS NOT NULL THEN 'LAPSED'
            WHEN tagged THEN 'TAGGED'
            WHEN certain THEN 'INHERITED'
            ELSE 'POSSIBLE' END AS status,
       CASE WHEN NOT tagged THEN from_key END AS from_dataset, CASE WHEN NOT tagged THEN from_column END AS from_column,
       coalesce(accepted.decided_by, cleared_by) AS by, coalesce(accepted.reason, cleared.reason) AS reason,
       coalesce(accepted.decided_at, cleared_at) AS at
FROM sensitive
FULL JOIN cleared USING (dataset_id, column_name)
LEFT JOIN accepted USING (dataset_id, column_name)
JOIN catalog.dataset USING (dataset_id)
ORDER BY dataset, "column"
