UPDATE catalog.unreported_version
SET delivered = ARRAY (SELECT DISTINCT unnest(delivered || %(delivered)s::text[])), failure = %(failure)s,
    tries = tries + 1, next_try_at = now() + least(interval '1 minute' * power(2, least(tries, 10)), interval '1 hour')
WHERE dataset_version_id = %(version)s
