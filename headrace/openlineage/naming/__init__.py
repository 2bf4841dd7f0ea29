"""The names of datasets in events: which of them belong to one dataset, and merging those that turn out to be one."""
