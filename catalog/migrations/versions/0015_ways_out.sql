-- Whether any dataset that the caller sees has the word, or one that begins so. Who sees a whole organisation is not asked.
CREATE FUNCTION catalog.caller_finds(word text, beginning boolean) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    SELECT caller_organisation() IS NULL OR caller_sees_all() OR EXISTS (
        SELECT FROM dataset_search
        WHERE organisation_id = caller_organisation()
          AND words @@ (quote_literal(word) || CASE WHEN beginning THEN ':*' ELSE '' END)::tsquery
          AND (domain_of(full_name) = ANY ((SELECT caller_domains())::text[])
               OR full_name = ANY ((SELECT caller_datasets())::text[]))
    )
$$;

-- As before; but that a word is known tells a caller with some domains only nothing of the others.
CREATE OR REPLACE FUNCTION catalog.known_words(of_organisation uuid, query text)
RETURNS TABLE (token text, is_known boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    SELECT asked, (EXISTS (
        SELECT FROM search_word
        WHERE organisation_id = coalesce(caller_organisation(), of_organisation) AND word = asked
    ) OR length(asked) >= 3 AND EXISTS (
        SELECT FROM search_word
        WHERE organisation_id = coalesce(caller_organisation(), of_organisation)
          AND word > asked AND word < asked || chr(1114111)
    )) AND caller_finds(asked, length(asked) >= 3)
    FROM unnest(search_words(query)) AS asked
    ORDER BY asked
$$;

-- Of so many words again those that the caller's datasets have.
CREATE OR REPLACE FUNCTION catalog.similar_words(of_organisation uuid, token text, most integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    SELECT word FROM (
        SELECT word
        FROM search_key
        WHERE organisation_id = coalesce(caller_organisation(), of_organisation) AND key = ANY (search_keys(token))
        GROUP BY word
        ORDER BY count(*) DESC, abs(length(word) - length(token)), word
        LIMIT most * 4
    ) AS near
    WHERE caller_finds(word, false)
    LIMIT most
$$;
