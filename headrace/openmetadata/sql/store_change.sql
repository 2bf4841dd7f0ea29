INSERT INTO catalog.openmetadata_change (
    organisation_id, dataset_id, field, column_name, value, declared, outcome, changed_by, changed_at)
VALUES (%(organisation)s, %(dataset_id)s, %(field)s, %(column_name)s, %(value)s, %(declared)s, %(outcome)s, %(changed_by)s,
        %(changed_at)s)
ON CONFLICT (dataset_id, field, column_name) DO UPDATE SET
    value = excluded.value, declared = excluded.declared, outcome = excluded.outcome, changed_by = excluded.changed_by,
    changed_at = excluded.changed_at
WHERE openmetadata_change.value <> excluded.value OR openmetadata_change.outcome <> excluded.outcome
   OR openmetadata_change.declared <> excluded.declared
