-- The known runs among these, and whether the run %(run_id)s is above them.
WITH RECURSIVE above AS (
    SELECT run_id, parent_run_id AS ancestor, 1 AS depth
    FROM catalog.process_run
    WHERE run_id = ANY (%(runs)s)
    UNION
    SELECT above.run_id, run.parent_run_id, above.depth + 1
    FROM above
    JOIN catalog.process_run run ON run.run_id = above.ancestor
    WHERE above.depth < 20
)
SELECT run_id, coalesce(bool_or(ancestor = %(run_id)s), false) AS below
FROM above
GROUP BY run_id
