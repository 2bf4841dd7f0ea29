CREATE TEMPORARY TABLE scanned_process (
    technology text, instance text COLLATE "C", external_name text COLLATE "C", short_key text COLLATE "C",
    whole_key text COLLATE "C", description text, owners text[], source text, metadata_json jsonb, declaration_hash text
) ON COMMIT DROP;
CREATE TEMPORARY TABLE scanned_text (
    technology text, instance text COLLATE "C", external_name text COLLATE "C", file text, line integer,
    text_line integer, text_digest text, lost jsonb, block integer
) ON COMMIT DROP;
CREATE TEMPORARY TABLE scanned_dependency (
    technology text, instance text COLLATE "C", external_name text COLLATE "C", upstream_technology text,
    upstream_instance text, upstream_name text, attribute text, condition text, orders boolean
) ON COMMIT DROP;
CREATE TEMPORARY TABLE scanned_evidence (
    technology text, instance text COLLATE "C", external_name text COLLATE "C", pattern text COLLATE "C",
    direction text, confidence double precision, attribute text, excerpt text, line integer
) ON COMMIT DROP
