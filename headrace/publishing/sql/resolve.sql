-- The version that each (request, partition) reads, by the first of: the requested tag, the requested time, the
-- consumer's pin, the pin for everyone, the published version. partition_key null: every existing partition. Rows
-- without a dataset_version_id are requested partitions without a version.
WITH request AS MATERIALIZED (
    SELECT asked.*, dataset.dataset_id, consumer.dataset_id AS consumer_id
    FROM unnest(
        %(ordinals)s::int[], %(positions)s::int[], %(datasets)s::text[], %(consumers)s::text[], %(partitions)s::text[],
        %(tags)s::text[], %(times)s::timestamptz[]
    ) AS asked (ordinal, position, dataset, consumer, partition_key, version_tag, as_of)
    JOIN catalog.dataset ON dataset.organisation_id = %(organisation)s AND dataset.full_name = asked.dataset
    LEFT JOIN catalog.dataset consumer
        ON consumer.organisation_id = %(organisation)s AND consumer.full_name = asked.consumer
), wanted AS MATERIALIZED (
    SELECT ordinal, position, dataset_id, consumer_id, partition_key, version_tag, as_of
    FROM request
    WHERE partition_key IS NOT NULL
    UNION ALL
    SELECT ordinal, position, dataset_id, consumer_id, pointer.partition_key, version_tag, as_of
    FROM request
    JOIN catalog.published_pointer pointer USING (dataset_id)
    WHERE request.partition_key IS NULL
      AND (pointer.dataset_version_id IS NOT NULL OR request.version_tag IS NOT NULL OR request.as_of IS NOT NULL)
)
SELECT ordinal, position, partition_key, chosen.dataset_version_id, chosen.reason
FROM wanted
LEFT JOIN LATERAL (
    SELECT version.dataset_version_id, 'PINNED' AS reason, 1 AS rank
    FROM catalog.dataset_version version
    WHERE wanted.version_tag IS NOT NULL
      AND version.dataset_id = wanted.dataset_id
      AND version.partition_key = wanted.partition_key
      AND version.version_tag = wanted.version_tag
      AND version.outcome = 'PUBLISHED'
    UNION ALL
    (SELECT move.dataset_version_id, 'AS_OF', 2
     FROM catalog.pointer_move move
     WHERE wanted.version_tag IS NULL
       AND wanted.as_of IS NOT NULL
       AND move.dataset_id = wanted.dataset_id
       AND move.partition_key = wanted.partition_key
       AND move.moved_at <= wanted.as_of
     ORDER BY move.generation DESC
     LIMIT 1)
    UNION ALL
    SELECT pin.dataset_version_id, 'PINNED', CASE WHEN pin.consumer_id IS NULL THEN 4 ELSE 3 END
    FROM catalog.dataset_pin pin
    WHERE wanted.version_tag IS NULL
      AND wanted.as_of IS NULL
      AND pin.dataset_id = wanted.dataset_id
      AND pin.partition_key = wanted.partition_key
      AND pin.unpinned_at IS NULL
      AND (pin.consumer_id IS NULL OR pin.consumer_id = wanted.consumer_id)
    UNION ALL
    SELECT pointer.dataset_version_id, 'PUBLISHED', 5
    FROM catalog.published_pointer pointer
    WHERE wanted.version_tag IS NULL
      AND wanted.as_of IS NULL
      AND pointer.dataset_id = wanted.dataset_id
      AND pointer.partition_key = wanted.partition_key
      AND pointer.dataset_version_id IS NOT NULL
    ORDER BY rank
    LIMIT 1
) chosen ON true
ORDER BY ordinal, position, partition_key
