-- The columns hidden by default: of these versions, or of what readers of these datasets get.
WITH asked AS MATERIALIZED (
    SELECT dataset.dataset_id, full_name, published.provenance_id
    FROM catalog.dataset
    CROSS JOIN LATERAL catalog.published_provenances(dataset.dataset_id) published
    WHERE dataset.organisation_id = %(organisation)s AND full_name = ANY (%(datasets)s)
), sensitive AS MATERIALIZED (
    SELECT * FROM catalog.sensitive_columns(
        %(organisation)s, ARRAY(SELECT dataset_id FROM asked), ARRAY(SELECT provenance_id FROM asked), false)
)
SELECT full_name, ARRAY(
    SELECT DISTINCT column_name FROM sensitive WHERE sensitive.dataset_id = dataset.dataset_id
) AS columns
FROM catalog.dataset
WHERE organisation_id = %(organisation)s AND full_name = ANY (%(datasets)s)
