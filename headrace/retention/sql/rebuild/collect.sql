CREATE TEMPORARY TABLE raw_event (
    event_time timestamptz, content_hash text, run_id uuid, process_key text, payload_json jsonb, historical boolean,
    received_at timestamptz, sequence bigint, source text
) ON COMMIT DROP;
CREATE TEMPORARY TABLE archived_run_id (run_id uuid) ON COMMIT DROP;
CREATE TEMPORARY TABLE live_run_id (run_id uuid) ON COMMIT DROP;
CREATE TEMPORARY TABLE former_version (LIKE catalog.dataset_version) ON COMMIT DROP
