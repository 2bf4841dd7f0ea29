-- Lineage is walked in the indexes alone: an edge's organisation, process and times are in them.
DROP INDEX catalog.lineage_edge_source;
DROP INDEX catalog.lineage_edge_target;
CREATE INDEX lineage_edge_source ON catalog.lineage_edge (source_id, edge_role, target_id)
    INCLUDE (organisation_id, process_id, valid_from, valid_to);
CREATE INDEX lineage_edge_target ON catalog.lineage_edge (target_id, edge_role, source_id)
    INCLUDE (organisation_id, process_id, valid_from, valid_to);
