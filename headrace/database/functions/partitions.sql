-- The monthly partitions of process_run and run_event.

-- Make the partitions of `months` months from that of `first` on, and move rows from the default partition into them.
-- Cheap when all exist. SECURITY DEFINER: only the owner of a table may make its partitions.
CREATE OR REPLACE FUNCTION catalog.make_partitions(first timestamptz, months integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    parent text; stamp text; child text; lower timestamptz; upper timestamptz; made integer := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['process_run', 'run_event'] LOOP
        stamp := CASE parent WHEN 'process_run' THEN 'start_ts' ELSE 'event_time' END;
        FOR i IN 0 .. months - 1 LOOP
            lower := date_trunc('month', first) + make_interval(months => i);
            upper := lower + interval '1 month';
            child := parent || to_char(lower, '"_"YYYY"_"MM');
            CONTINUE WHEN to_regclass('catalog.' || child) IS NOT NULL;
            PERFORM pg_advisory_xact_lock(hashtextextended('headrace/make_partitions', 0));
            CONTINUE WHEN to_regclass('catalog.' || child) IS NOT NULL;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', child, parent);
            EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= %L AND %I < %L RETURNING *) '
                           'INSERT INTO %I SELECT * FROM moved',
                           parent || '_default', stamp, lower, stamp, upper, child);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, lower, upper);
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;

-- Drop the empty partitions of months before `before`. They hold all organisations: it fails where row-level security
-- would hide rows from the caller.
CREATE OR REPLACE FUNCTION catalog.drop_partitions(before timestamptz) RETURNS integer
LANGUAGE plpgsql SET search_path = catalog SET timezone = 'UTC' SET row_security = off AS $$
DECLARE
    parent text; child text; filled boolean; dropped integer := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['process_run', 'run_event'] LOOP
        FOR child IN
            SELECT relname
            FROM pg_inherits
            JOIN pg_class ON pg_class.oid = inhrelid
            WHERE inhparent = ('catalog.' || parent)::regclass
              AND relname ~ '_\d{4}_\d{2}$'
              AND to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' <= before
            ORDER BY relname
        LOOP
            EXECUTE format('SELECT EXISTS (SELECT FROM %I)', child) INTO filled;
            CONTINUE WHEN filled;
            EXECUTE format('LOCK TABLE ONLY %I, ONLY %I IN ACCESS EXCLUSIVE MODE', parent, child);
            EXECUTE format('SELECT EXISTS (SELECT FROM %I)', child) INTO filled;
            CONTINUE WHEN filled;
            EXECUTE format('DROP TABLE %I', child);
            dropped := dropped + 1;
        END LOOP;
    END LOOP;
    RETURN dropped;
END $$;

SELECT catalog.make_partitions(now() - interval '1 month', 5);
