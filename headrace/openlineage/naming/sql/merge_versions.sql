-- Assign schemas and versions of %(old)s to %(into)s. For a common schema, the earlier start counts. A common tag stays
-- with the target's version; the other version's tag gets its id appended.
WITH schema AS (
    INSERT INTO catalog.dataset_schema AS known (
        dataset_id, schema_hash, column_order, organisation_id, column_name, column_type, nullable, column_metadata,
        created_at
    )
    SELECT %(into)s, schema_hash, column_order, organisation_id, column_name, column_type, nullable, column_metadata,
           created_at
    FROM catalog.dataset_schema
    WHERE dataset_id = %(old)s
    ON CONFLICT (dataset_id, schema_hash, column_order)
        DO UPDATE SET created_at = least(known.created_at, excluded.created_at)
), old_schema AS (
    DELETE FROM catalog.dataset_schema WHERE dataset_id = %(old)s
)
UPDATE catalog.dataset_version version
SET dataset_id = %(into)s,
    version_tag = CASE WHEN EXISTS (
        SELECT FROM catalog.dataset_version other
        WHERE other.dataset_id = %(into)s
          AND other.version_tag = version.version_tag
          AND other.partition_key = version.partition_key
    ) THEN version.version_tag || '-' || left(version.dataset_version_id::text, 8) ELSE version.version_tag END
WHERE dataset_id = %(old)s
