"""`headrace catalog`, `lineage export` and `setup-lineage`: archive, names, exports."""
