-- The inputs of a version, of the version of the same dataset and partition that it was made from, and so on.
WITH RECURSIVE chain AS (
    SELECT dataset_version_id, dataset_id, partition_key
    FROM catalog.dataset_version
    WHERE dataset_version_id = %(version_id)s
    UNION
    SELECT before.dataset_version_id, before.dataset_id, before.partition_key
    FROM chain
    JOIN catalog.version_input read USING (dataset_version_id)
    JOIN catalog.dataset_version before
        ON before.dataset_version_id = read.input_version_id
       AND before.dataset_id = chain.dataset_id
       AND before.partition_key = chain.partition_key
)
SELECT DISTINCT input_version_id
FROM chain
JOIN catalog.version_input USING (dataset_version_id)
