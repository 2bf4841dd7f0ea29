"""HTTP below the routes: authorization, limits, ETags, idempotency keys, problem documents, metrics."""
