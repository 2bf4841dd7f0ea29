SELECT process_id,
       coalesce(jsonb_object_agg(facet.name, facet.content) FILTER (WHERE NOT facet.deleted), '{}') AS facets
FROM catalog.process
JOIN catalog.facet ON facet.subject_type = 'PROCESS' AND facet.subject_id = process_id
WHERE process_id = ANY (%(processes)s::uuid[])
  AND job_name IS NOT NULL
  AND (facet.modelled OR facet.deleted)
  AND facet.name IN ('documentation', 'ownership', 'sourceCodeLocation', 'sql', 'sourceCode', 'jobType', 'tags')
GROUP BY process_id
