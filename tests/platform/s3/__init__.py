"""A service with the protocol of S3 for tests."""
