-- instance: the scheduler (AUTOSERV) that runs the process, '' where there is one only. external_name: what that system
-- calls it. standing: RETIRED when the last scan no longer had it; UNSCANNED when it has been heard of and never scanned.
ALTER TABLE catalog.process
    ADD COLUMN instance      text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN external_name text COLLATE "C",
    ADD COLUMN standing      text NOT NULL DEFAULT 'ACTIVE' CHECK (standing IN ('ACTIVE', 'UNSCANNED', 'RETIRED'));
CREATE UNIQUE INDEX process_external ON catalog.process (organisation_id, technology, instance, external_name)
    WHERE external_name IS NOT NULL;
