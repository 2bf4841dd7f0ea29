-- Changes of the lineage graph, stored in the outbox by triggers.

-- The topic is the view that has the rows, the payload their ids (for columns, the ids of their targets' names).
-- SECURITY DEFINER: every change is stored, also of rows that the caller may not see.
CREATE OR REPLACE FUNCTION catalog.store_graph_rows() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM changed) THEN
        EXECUTE format(
            'INSERT INTO catalog.outbox (organisation_id, topic, payload_json) '
            'SELECT organisation_id, %1$L, jsonb_build_object(''ids'', jsonb_agg(id)) '
            'FROM (SELECT organisation_id, id, row_number() OVER (ORDER BY id) / 1000 AS chunk '
            '      FROM (SELECT DISTINCT organisation_id, %2$I AS id FROM changed) row) numbered '
            'GROUP BY organisation_id, chunk', TG_ARGV[0], TG_ARGV[1]);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION catalog.store_graph_row() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
BEGIN
    INSERT INTO outbox (organisation_id, topic, payload_json)
    VALUES (NEW.organisation_id, TG_ARGV[0], jsonb_build_object('ids', jsonb_build_array(to_jsonb(NEW) -> TG_ARGV[1])));
    RETURN NULL;
END $$;

-- A name that moves to another dataset takes its columns with it.
CREATE OR REPLACE FUNCTION catalog.store_graph_name() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = catalog, pg_temp AS $$
BEGIN
    INSERT INTO outbox (organisation_id, topic, payload_json)
    VALUES (NEW.organisation_id, 'graph_dataset', jsonb_build_object('ids', jsonb_build_array(OLD.dataset_id, NEW.dataset_id)));
    INSERT INTO outbox (organisation_id, topic, payload_json)
    SELECT NEW.organisation_id, 'graph_column_edge', jsonb_build_object('ids', jsonb_agg(DISTINCT target_name_id))
    FROM column_lineage
    WHERE target_name_id = NEW.name_id OR source_name_id = NEW.name_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER graph_inserted AFTER INSERT ON catalog.dataset REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.store_graph_rows('graph_dataset', 'dataset_id');

CREATE OR REPLACE TRIGGER graph_deleted AFTER DELETE ON catalog.dataset REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.store_graph_rows('graph_dataset', 'dataset_id');

CREATE OR REPLACE TRIGGER graph_updated AFTER UPDATE ON catalog.dataset
    FOR EACH ROW WHEN ((OLD.full_name, OLD.namespace, OLD.name, OLD.description, OLD.default_format, OLD.status, OLD.owners,
                        OLD.tags, OLD.declaration_hash)
                       IS DISTINCT FROM (NEW.full_name, NEW.namespace, NEW.name, NEW.description, NEW.default_format,
                                         NEW.status, NEW.owners, NEW.tags, NEW.declaration_hash))
    EXECUTE FUNCTION catalog.store_graph_row('graph_dataset', 'dataset_id');

CREATE OR REPLACE TRIGGER graph_inserted AFTER INSERT ON catalog.process REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.store_graph_rows('graph_process', 'process_id');

CREATE OR REPLACE TRIGGER graph_deleted AFTER DELETE ON catalog.process REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.store_graph_rows('graph_process', 'process_id');

CREATE OR REPLACE TRIGGER graph_updated AFTER UPDATE ON catalog.process
    FOR EACH ROW WHEN ((OLD.process_key, OLD.job_namespace, OLD.job_name, OLD.description, OLD.technology,
                        OLD.trigger_mode, OLD.lifecycle, OLD.owners)
                       IS DISTINCT FROM (NEW.process_key, NEW.job_namespace, NEW.job_name, NEW.description,
                                         NEW.technology, NEW.trigger_mode, NEW.lifecycle, NEW.owners))
    EXECUTE FUNCTION catalog.store_graph_row('graph_process', 'process_id');

CREATE OR REPLACE TRIGGER graph_inserted AFTER INSERT ON catalog.lineage_edge REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.store_graph_rows('graph_edge', 'edge_id');

CREATE OR REPLACE TRIGGER graph_deleted AFTER DELETE ON catalog.lineage_edge REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.store_graph_rows('graph_edge', 'edge_id');

CREATE OR REPLACE TRIGGER graph_updated AFTER UPDATE ON catalog.lineage_edge
    FOR EACH ROW WHEN ((OLD.source_id, OLD.target_id, OLD.edge_role, OLD.process_id, OLD.origin, OLD.valid_to)
                       IS DISTINCT FROM (NEW.source_id, NEW.target_id, NEW.edge_role, NEW.process_id, NEW.origin,
                                         NEW.valid_to))
    EXECUTE FUNCTION catalog.store_graph_row('graph_edge', 'edge_id');

CREATE OR REPLACE TRIGGER graph_inserted AFTER INSERT ON catalog.column_lineage REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.store_graph_rows('graph_column_edge', 'target_name_id');

CREATE OR REPLACE TRIGGER graph_deleted AFTER DELETE ON catalog.column_lineage REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.store_graph_rows('graph_column_edge', 'target_name_id');

-- The last report decides which rows of a target are current.
CREATE OR REPLACE TRIGGER graph_updated AFTER UPDATE ON catalog.column_lineage_report REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog.store_graph_rows('graph_column_edge', 'target_name_id');

CREATE OR REPLACE TRIGGER graph_name_moved AFTER UPDATE ON catalog.dataset_name
    FOR EACH ROW WHEN (OLD.dataset_id <> NEW.dataset_id) EXECUTE FUNCTION catalog.store_graph_name();
