"""One module a revision; its statements stand beside it in SQL."""
