SELECT name, content, at, modelled
FROM (
    SELECT DISTINCT ON (facet.name) facet.name, facet.content, facet.at, facet.modelled, facet.deleted
    FROM catalog.facet
    WHERE facet.subject_type = %(subject)s::text
      AND (facet.subject_id = %(subject_id)s
           OR facet.subject_type = 'DATASET'
              AND facet.subject_id IN (
                  SELECT name_id FROM catalog.dataset_name WHERE dataset_id = %(subject_id)s))
    ORDER BY facet.name, facet.at DESC, facet.digest DESC, facet.subject_id
) newest
WHERE NOT deleted
ORDER BY name
