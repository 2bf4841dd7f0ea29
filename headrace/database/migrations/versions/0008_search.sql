-- Search over datasets by name, description, owner, tag and column, tolerant of typing errors; needs no extension. Beside
-- it what the API keeps: what was asked for in a registration, and the answers to requests with an Idempotency-Key.

-- The words of a text: lower case, split at everything that is not a letter or digit, and where a capital follows a small one.
CREATE FUNCTION catalog.search_words(value text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT left(word, 64)), '{}')
    FROM regexp_split_to_table(
        lower(regexp_replace(left(value, 20000), '([a-z0-9])([A-Z])', '\1 \2', 'g')),
        '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+'
    ) AS word
    WHERE word <> ''
$$;

-- By what a word that is typed wrongly is found: its trigrams, and of short words what is left without one letter.
-- Words that are mostly digits have none: a number that is wrong by one digit is another number.
CREATE FUNCTION catalog.search_keys(word text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN length(regexp_replace(word, '[0-9]', '', 'g')) < 3 THEN '{}'::text[] ELSE ARRAY (
        SELECT substr('  ' || word || ' ', i, 3) FROM generate_series(1, length(word) + 1) AS i
        UNION
        SELECT '-' || overlay(word PLACING '' FROM i FOR 1) FROM generate_series(1, length(word)) AS i WHERE length(word) <= 6
        UNION
        SELECT '-' || word WHERE length(word) <= 6
    ) END
$$;

-- Weights say where a word stands: A name, B owner or tag, C column, D description.
CREATE FUNCTION catalog.search_vector(name text, owners text[], tags jsonb, columns jsonb, description text)
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

CREATE TABLE catalog.dataset_search (
    dataset_id      uuid PRIMARY KEY REFERENCES catalog.dataset ON DELETE CASCADE,
    organisation_id uuid NOT NULL,
    full_name       text COLLATE "C" NOT NULL,
    words           tsvector NOT NULL
);
CREATE INDEX dataset_search_words ON catalog.dataset_search USING gin (words);
CREATE INDEX dataset_search_name ON catalog.dataset_search (organisation_id, lower(full_name));

-- Every word that the datasets of an organisation have, and its keys. Words of which no dataset is left find nothing.
CREATE TABLE catalog.search_word (
    organisation_id uuid NOT NULL,
    word            text COLLATE "C" NOT NULL,
    PRIMARY KEY (organisation_id, word)
);
CREATE TABLE catalog.search_key (
    organisation_id uuid NOT NULL,
    key             text COLLATE "C" NOT NULL,
    word            text COLLATE "C" NOT NULL,
    PRIMARY KEY (organisation_id, key, word)
);

-- The functions below look past row-level security, which would keep them from the indexes, and keep to the caller's rows
-- themselves; without a caller, to the organisation that is given.

CREATE FUNCTION catalog.index_datasets(ids uuid[]) RETURNS void
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
        SELECT FROM catalog.dataset_search, unnest(tsvector_to_array(words)) AS said (text)
        WHERE dataset_id = ANY (ids) AND NOT EXISTS (
            SELECT FROM catalog.search_word known
            WHERE known.organisation_id = dataset_search.organisation_id AND known.word = said.text
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

CREATE FUNCTION catalog.index_inserted_datasets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM catalog.index_datasets(ARRAY (SELECT dataset_id FROM new_rows));
    RETURN NULL;
END $$;

CREATE FUNCTION catalog.index_updated_datasets() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER dataset_search_inserted AFTER INSERT ON catalog.dataset
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION catalog.index_inserted_datasets();
CREATE TRIGGER dataset_search_updated AFTER UPDATE ON catalog.dataset
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.index_updated_datasets();

SELECT catalog.index_datasets(ARRAY (SELECT dataset_id FROM catalog.dataset));

-- Of each word of a query, whether a dataset's word is it, or begins with it (of three letters or more).
CREATE FUNCTION catalog.known_words(of_organisation uuid, query text)
RETURNS TABLE (token text, is_known boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    SELECT asked, EXISTS (
        SELECT FROM search_word
        WHERE organisation_id = coalesce(caller_organisation(), of_organisation) AND word = asked
    ) OR length(asked) >= 3 AND EXISTS (
        SELECT FROM search_word
        WHERE organisation_id = coalesce(caller_organisation(), of_organisation)
          AND word > asked AND word < asked || chr(1114111)
    )
    FROM unnest(search_words(query)) AS asked
    ORDER BY asked
$$;

-- The words that have most keys in common with one.
CREATE FUNCTION catalog.similar_words(of_organisation uuid, token text, most integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    SELECT word
    FROM search_key
    WHERE organisation_id = coalesce(caller_organisation(), of_organisation) AND key = ANY (search_keys(token))
    GROUP BY word
    ORDER BY count(*) DESC, abs(length(word) - length(token)), word
    LIMIT most
$$;

-- Datasets by how well they fit: the very key first, then those that have all words in their names, then those that have
-- them anywhere. Of each kind a bounded number is ranked, so that a word that half of the datasets have costs no more.
CREATE FUNCTION catalog.search_datasets(
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

-- requested: the dataset as it was asked for, which an approval puts into force.
ALTER TABLE catalog.dataset_registration
    ADD COLUMN requested   jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN reviewed_at timestamptz;
CREATE UNIQUE INDEX dataset_registration_pending ON catalog.dataset_registration (dataset_id) WHERE status = 'PENDING';
CREATE INDEX dataset_registration_newest
    ON catalog.dataset_registration (organisation_id, submitted_at DESC, reg_id DESC);

-- What a request with an Idempotency-Key was answered, so that one that is sent again is answered the same.
CREATE TABLE catalog.answered_request (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    subject         text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    request_hash    text COLLATE "C" NOT NULL,
    status          integer NOT NULL,
    answer          jsonb NOT NULL,
    answered_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, subject, idempotency_key)
);
CREATE INDEX answered_request_age ON catalog.answered_request (answered_at);

-- What a caller's request of this key was answered; the caller waits while another of his with the key is under way.
CREATE FUNCTION catalog.answer_to(key text) RETURNS SETOF catalog.answered_request
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(
        hashtextextended('headrace/answer/' || caller_organisation() || '/' || caller_subject() || '/' || key, 0)
    );
    RETURN QUERY SELECT * FROM answered_request
    WHERE organisation_id = caller_organisation() AND subject = caller_subject() AND idempotency_key = key;
END $$;

-- Keeps an answer for a day or longer.
CREATE FUNCTION catalog.keep_answer(key text, hash text, with_status integer, given jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
    DELETE FROM answered_request
    WHERE organisation_id = caller_organisation() AND answered_at < now() - interval '1 day';
    INSERT INTO answered_request (organisation_id, subject, idempotency_key, request_hash, status, answer)
    VALUES (caller_organisation(), caller_subject(), key, hash, with_status, given);
$$;
