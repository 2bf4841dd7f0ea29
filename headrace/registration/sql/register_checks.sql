-- Set the checks of the datasets in %(datasets)s to those in %(checks)s; others are retired.
WITH declared AS MATERIALIZED (
    SELECT dataset.dataset_id, item.*
    FROM jsonb_to_recordset(%(checks)s) AS item (
        dataset text, name text, kind text, column_name text, parameters jsonb, severity text, quarantine boolean,
        description text
    )
    JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = item.dataset
), retired AS (
    UPDATE catalog.quality_check_def def SET retired_at = now()
    FROM catalog.dataset
    WHERE dataset.organisation_id = %(organisation)s
      AND dataset.full_name = ANY (%(datasets)s)
      AND def.dataset_id = dataset.dataset_id
      AND def.retired_at IS NULL
      AND NOT EXISTS (
          SELECT FROM declared WHERE declared.dataset_id = def.dataset_id AND declared.name = def.name
      )
)
INSERT INTO catalog.quality_check_def AS known (
    organisation_id, dataset_id, name, kind, column_name, parameters, severity, quarantine, description
)
SELECT %(organisation)s, dataset_id, name, kind, column_name, parameters, severity, quarantine, description
FROM declared
ORDER BY dataset_id, name
ON CONFLICT (dataset_id, name) DO UPDATE SET
    kind = excluded.kind,
    column_name = excluded.column_name,
    parameters = excluded.parameters,
    severity = excluded.severity,
    quarantine = excluded.quarantine,
    description = excluded.description,
    retired_at = NULL
