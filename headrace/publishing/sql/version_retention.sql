-- The versions of the datasets with a retention rule (`keep` of their declaration) that have not expired, the oldest
-- first, each with why it stays; `kept` null: it expires. Versions that one run wrote share a tag, and expire together.
WITH rule AS (
    SELECT dataset_id, full_name,
           catalog.kept_number(metadata_json -> 'keep' -> 'versions') AS versions,
           make_interval(days => catalog.kept_number(metadata_json -> 'keep' -> 'days')) AS age,
           make_interval(months => catalog.kept_number(metadata_json -> 'keep' -> 'month_ends')) AS months,
           metadata_json -> 'keep' ->> 'hold' AS hold,
           metadata_json -> 'keep' ->> 'class' AS class,
           make_interval(days => catalog.kept_days(metadata_json -> 'keep' -> 'min_days')) AS least,
           make_interval(days => catalog.kept_days(metadata_json -> 'keep' -> 'max_days')) AS most
    FROM catalog.dataset
    WHERE organisation_id = %(organisation)s
      AND jsonb_typeof(metadata_json -> 'keep') = 'object'
      AND NOT metadata_json ? 'external'
      AND (%(dataset)s::text IS NULL OR full_name = %(dataset)s)
), placed AS (
    SELECT rule.*, version.dataset_version_id, version.partition_key, version.version_tag, version.produced_at,
           version.outcome, version.byte_size, version.metadata_json -> 'appended_to' AS appended_to,
           count(*) FILTER (WHERE version.outcome = 'PUBLISHED') OVER newest AS place,
           version.produced_at = max(version.produced_at) FILTER (WHERE version.outcome = 'PUBLISHED') OVER month
               AS is_month_end
    FROM rule
    JOIN catalog.dataset_version version USING (dataset_id)
    WHERE num_nonnulls(rule.versions, rule.age, rule.months, rule.hold, rule.least, rule.most) > 0
      AND NOT EXISTS (
          SELECT FROM catalog.expired_version expired WHERE expired.dataset_version_id = version.dataset_version_id)
    WINDOW newest AS (
               PARTITION BY version.dataset_id, version.partition_key
               ORDER BY version.produced_at DESC, version.dataset_version_id
           ),
           month AS (
               PARTITION BY version.dataset_id, version.partition_key,
                            date_trunc('month', version.produced_at AT TIME ZONE 'UTC')
           )
), judged AS (
    SELECT placed.*,
           CASE
               WHEN EXISTS (SELECT FROM catalog.published_pointer pointer
                            WHERE pointer.dataset_version_id = placed.dataset_version_id) THEN 'published'
               WHEN hold IS NOT NULL THEN 'held: ' || hold
               WHEN EXISTS (SELECT FROM catalog.dataset_pin pin
                            WHERE pin.dataset_version_id = placed.dataset_version_id
                              AND coalesce(pin.unpinned_at > %(now)s - %(grace)s, true))
                   THEN 'pinned, or until a moment ago'
               WHEN EXISTS (SELECT FROM catalog.run_input input
                            JOIN catalog.run_attempt attempt USING (run_id, attempt)
                            WHERE input.dataset_version_id = placed.dataset_version_id AND attempt.state = 'RUNNING')
                   THEN 'read by a running run'
               WHEN EXISTS (SELECT FROM catalog.version_input input
                            JOIN catalog.published_pointer pointer USING (dataset_version_id)
                            WHERE input.input_version_id = placed.dataset_version_id)
                   THEN 'input of a published version'
               WHEN produced_at > %(now)s - %(grace)s
                    OR EXISTS (SELECT FROM catalog.pointer_move move
                               WHERE move.previous_version_id = placed.dataset_version_id
                                 AND move.moved_at > %(now)s - %(grace)s)
                   THEN 'new, or published until a moment ago'
               WHEN produced_at > %(now)s - least
                   THEN 'not yet ' || extract(day FROM least) || ' days old, as ' || class || ' demands'
               WHEN produced_at <= %(now)s - most THEN NULL
               WHEN num_nonnulls(versions, age, months) = 0 AND most IS NOT NULL
                   THEN 'not yet ' || extract(day FROM most) || ' days old, as ' || class || ' allows'
               WHEN num_nonnulls(versions, age, months) = 0 AND least IS NOT NULL THEN 'no rule ends it'
               WHEN place <= versions AND (outcome = 'PUBLISHED' OR place < versions)
                   THEN 'one of the newest ' || versions
               WHEN produced_at > %(now)s - age THEN 'not yet ' || extract(day FROM age) || ' days old'
               WHEN is_month_end AND produced_at >= date_trunc('month', %(now)s AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - months
                   THEN 'the last of its month'
           END AS reason
    FROM placed
), decided AS (
    SELECT judged.*,
           CASE
               WHEN reason IS NOT NULL THEN reason
               WHEN bool_or(reason IS NOT NULL) OVER (PARTITION BY dataset_id, version_tag)
                   THEN 'written together with a version that stays'
           END AS kept
    FROM judged
), shared AS (
    -- The rows of these stay for the versions that were appended to them.
    SELECT DISTINCT dataset_id, segment ->> 'tag' AS tag
    FROM decided, jsonb_array_elements(appended_to) AS segment
    WHERE kept IS NOT NULL
)
SELECT dataset_version_id, full_name AS dataset, nullif(partition_key, '') AS partition, version_tag AS tag, produced_at,
       outcome, byte_size, kept,
       CASE
           WHEN shared.tag IS NOT NULL THEN 0
           ELSE byte_size - coalesce((
               SELECT before.byte_size FROM catalog.dataset_version before
               WHERE before.dataset_id = decided.dataset_id AND before.version_tag = decided.appended_to -> -1 ->> 'tag'
           ), 0)
       END AS own_byte_size
FROM decided
LEFT JOIN shared ON (shared.dataset_id, shared.tag) = (decided.dataset_id, decided.version_tag)
ORDER BY full_name, partition_key, produced_at, version_tag
