-- Search over datasets by name, description, owner, tag and column, tolerant of typing errors; needs no extension. Beside
-- it what the API keeps: what was asked for in a registration, and the answers to requests with an Idempotency-Key.

-- The words of a text: lower case, split at everything that is not a letter or digit, and where a capital follows a small one.
CREATE OR REPLACE FUNCTION catalog.search_words(value text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT left(word, 64)), '{}')
    FROM regexp_split_to_table(
        lower(regexp_replace(left(value, 20000), '([a-z0-9])([A-Z])', '\1 \2', 'g')),
        '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+'
    ) AS word
    WHERE word <> ''
$$;

-- By what a word that is typed wrongly is found: its trigrams, and of short words what is left without one letter.
-- Words that are mostly digits have none: a number that is wrong by one digit is another number.
CREATE OR REPLACE FUNCTION catalog.search_keys(word text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN length(regexp_replace(word, '[0-9]', '', 'g')) < 3 THEN '{}'::text[] ELSE ARRAY (
        SELECT substr('  ' || word || ' ', i, 3) FROM generate_series(1, length(word) + 1) AS i
        UNION
        SELECT '-' || overlay(word PLACING '' FROM i FOR 1) FROM generate_series(1, length(word)) AS i WHERE length(word) <= 6
        UNION
        SELECT '-' || word WHERE length(word) <= 6
    ) END
$$;

-- Weights say where a word stands: A name, B owner or tag, C column, D description.
CREATE OR REPLACE FUNCTION catalog.search_vector(name text, owners text[], tags jsonb, columns jsonb, description text)
RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(string_agg('''' || word || ''':' || place, ' '), '')::tsvector
    FROM (
        SELECT unnest(catalog.search_words(name)) AS word, '1A' AS place
        UNION ALL
        SELECT unnest(catalog.search_words(array_to_string(owners, ' '))), '2B'
        UNION ALL
        SELECT unnest(catalog.search_words(tags::text)), '2B'
        UNION ALL
        SELECT unnest(catalog.search_words(
            (SELECT string_agg(item ->> 'name', ' ') FROM jsonb_array_elements(columns) AS item))), '3C'
        UNION ALL
        SELECT unnest(catalog.search_words(description)), '4D'
    ) said
$$;

-- As before; but whether a word is new is looked up by the word. To join with all words, as a plan did that was made when
-- there were few, took a second for two hundred datasets when there were two thousand words.
CREATE OR REPLACE FUNCTION catalog.index_datasets(ids uuid[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
DECLARE
    is_new boolean;
BEGIN
    INSERT INTO catalog.dataset_search AS known (dataset_id, organisation_id, full_name, words)
    SELECT dataset_id, organisation_id, full_name,
           catalog.search_vector(full_name, owners, tags, columns, description)
    FROM catalog.dataset
    WHERE dataset_id = ANY (ids)
    ORDER BY dataset_id
    ON CONFLICT (dataset_id) DO UPDATE SET full_name = excluded.full_name, words = excluded.words
    WHERE (known.full_name, known.words) IS DISTINCT FROM (excluded.full_name, excluded.words);

    SELECT EXISTS (
        SELECT FROM (
            SELECT organisation_id, array_agg(DISTINCT word) AS words
            FROM catalog.dataset_search, unnest(tsvector_to_array(words)) AS word
            WHERE dataset_id = ANY (ids)
            GROUP BY organisation_id
        ) said
        WHERE cardinality(said.words) > (
            SELECT count(*)
            FROM catalog.search_word known
            WHERE known.organisation_id = said.organisation_id AND known.word = ANY (said.words)
        )
    ) INTO is_new;
    IF is_new THEN
        -- Two transactions that add the same words in different orders would wait for each other.
        PERFORM pg_advisory_xact_lock(hashtextextended('headrace/search_word', 0));
        WITH added AS (
            INSERT INTO catalog.search_word (organisation_id, word)
            SELECT DISTINCT organisation_id, word
            FROM catalog.dataset_search, unnest(tsvector_to_array(words)) AS word
            WHERE dataset_id = ANY (ids)
            ON CONFLICT DO NOTHING
            RETURNING organisation_id, word
        )
        INSERT INTO catalog.search_key (organisation_id, key, word)
        SELECT organisation_id, key, word FROM added, unnest(catalog.search_keys(word)) AS key
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION catalog.index_inserted_datasets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM catalog.index_datasets(ARRAY (SELECT dataset_id FROM new_rows));
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION catalog.index_updated_datasets() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed uuid[] := ARRAY (
        SELECT dataset_id FROM new_rows JOIN old_rows USING (dataset_id)
        WHERE (new_rows.full_name, new_rows.owners, new_rows.tags, new_rows.columns, new_rows.description)
            IS DISTINCT FROM (old_rows.full_name, old_rows.owners, old_rows.tags, old_rows.columns, old_rows.description)
    );
BEGIN
    IF cardinality(changed) > 0 THEN
        PERFORM catalog.index_datasets(changed);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER dataset_search_inserted AFTER INSERT ON catalog.dataset
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION catalog.index_inserted_datasets();

CREATE OR REPLACE TRIGGER dataset_search_updated AFTER UPDATE ON catalog.dataset
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.index_updated_datasets();

-- Whether any dataset that the caller sees has the word, or one that begins so. Who sees a whole organisation is not asked.
CREATE OR REPLACE FUNCTION catalog.caller_finds(word text, beginning boolean) RETURNS boolean
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

-- Datasets by how well they fit: the very key first, then those that have all words in their names, then those that have
-- them anywhere. Of each kind a bounded number is ranked, so that a word that half of the datasets have costs no more.
CREATE OR REPLACE FUNCTION catalog.search_datasets(
    of_organisation uuid, query text, in_names tsquery, anywhere tsquery, ranked integer
) RETURNS TABLE (dataset_id uuid, score double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    WITH seen AS NOT MATERIALIZED (
        SELECT *
        FROM dataset_search
        WHERE organisation_id = coalesce(caller_organisation(), of_organisation)
          AND (caller_organisation() IS NULL OR caller_sees(full_name))
    )
    SELECT dataset_id, max(score)
    FROM (
        SELECT dataset_id, 3 FROM seen WHERE lower(full_name) = lower(query)
        UNION ALL
        SELECT dataset_id, 1 + ts_rank('{0.1, 0.2, 0.4, 1.0}', words, in_names, 2)
        FROM (SELECT dataset_id, words FROM seen WHERE words @@ in_names LIMIT ranked) named
        UNION ALL
        SELECT dataset_id, ts_rank('{0.1, 0.2, 0.4, 1.0}', words, anywhere, 2)
        FROM (SELECT dataset_id, words FROM seen WHERE words @@ anywhere LIMIT ranked) mentioned
    ) found (dataset_id, score)
    GROUP BY dataset_id
$$;
