"""HTTP below the routes: body limits, rate limits, ETags, idempotency keys, problem documents, metrics."""
