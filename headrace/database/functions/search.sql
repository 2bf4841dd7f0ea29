-- Search over datasets by name, description, owner, tag and column. It tolerates typing errors and needs no extension.
-- A change of words_of, search_words, search_keys or search_vector must rebuild the index, at the end of this file:
-- delete the rows of search_word and search_key, then call index_datasets for all datasets.

-- Return the words of the beginning of a text: in lower case, split at everything but letters and digits, and where a
-- capital follows a small letter or digit.
CREATE OR REPLACE FUNCTION catalog.words_of(value text, most integer) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT left(word, 64)), '{}')
    FROM regexp_split_to_table(
        lower(regexp_replace(left(value, most), '([a-z0-9])([A-Z])', '\1 \2', 'g')),
        '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+'
    ) AS word
    WHERE word <> ''
$$;

CREATE OR REPLACE FUNCTION catalog.search_words(value text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT catalog.words_of(value, 20000)
$$;

-- Return the keys by which a misspelt word is found: its trigrams, and for a short word its text with each letter left
-- out. Words that are mostly digits have none: a number with one wrong digit is another number.
CREATE OR REPLACE FUNCTION catalog.search_keys(word text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN length(regexp_replace(word, '[0-9]', '', 'g')) < 3 THEN '{}'::text[] ELSE ARRAY (
        SELECT substr('  ' || word || ' ', i, 3) FROM generate_series(1, length(word) + 1) AS i
        UNION
        SELECT '-' || overlay(word PLACING '' FROM i FOR 1) FROM generate_series(1, length(word)) AS i WHERE length(word) <= 6
        UNION
        SELECT '-' || word WHERE length(word) <= 6
    ) END
$$;

-- Weights by place: A name, B owner or tag, C column, D description.
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
    ) placed
$$;

-- Index these datasets. SECURITY DEFINER here and below: row-level security would prevent the use of the indexes, so
-- that these functions select the caller's rows themselves; without a caller, those of the given organisation. Whether
-- a word is new is looked up by the word: a plan made for few words, joining with all of them, took a second for 200
-- datasets with 2,000 words.
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
        ) indexed
        WHERE cardinality(indexed.words) > (
            SELECT count(*)
            FROM catalog.search_word known
            WHERE known.organisation_id = indexed.organisation_id AND known.word = ANY (indexed.words)
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

-- Return whether a dataset visible to the caller has the word, or a word that begins with it. Callers who see the whole
-- organisation are not checked.
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

-- Return for each word of a query whether a dataset has it, or (from three letters on) a word that begins with it. A
-- word that only datasets outside the caller's domains have is unknown to the caller.
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

-- Return the words with the most keys in common with `token`; of four times as many, those that the caller's datasets
-- have.
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

-- Return datasets by relevance: first the exact key, then those with all words in their names, then those with the
-- words anywhere. A bounded number of each kind is ranked, so that a word of half of the datasets costs no more.
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

-- Return the words of code; of its first 200,000 characters, as PostgreSQL stores 1 MiB of words. A change must rebuild
-- the index below.
-- With a body that names are not looked up in again: readers of the views plan with it, and may not use this schema.
CREATE OR REPLACE FUNCTION catalog.code_words(source text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(catalog.words_of(source, 200000));

CREATE INDEX IF NOT EXISTS process_code ON catalog.process USING gin (catalog.code_words(source)) WHERE source IS NOT NULL;

-- Return datasets that are written by code with the words, of processes of these domains (null: all): whether a caller
-- may read code goes by the process.
CREATE OR REPLACE FUNCTION catalog.datasets_by_code(
    of_organisation uuid, words tsquery, domains text[], most integer
) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    SELECT DISTINCT dataset.dataset_id
    FROM process
    JOIN lineage_edge edge ON edge.process_id = process.process_id AND edge.source_id = process.process_id
        AND edge.edge_role = 'PRODUCES' AND edge.valid_to IS NULL
    JOIN dataset ON dataset.dataset_id = edge.target_id
    WHERE process.organisation_id = coalesce(caller_organisation(), of_organisation)
      AND source IS NOT NULL
      AND code_words(source) @@ words
      AND (domains IS NULL OR domain_of(process.process_key) = ANY (domains))
      AND (caller_organisation() IS NULL OR caller_sees(full_name))
    LIMIT most
$$;
