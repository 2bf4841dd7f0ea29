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
