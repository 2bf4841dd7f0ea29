"""Tests of the catalog over HTTP."""
