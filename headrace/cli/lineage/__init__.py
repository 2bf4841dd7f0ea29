"""Commands for lineage: `lineage`, `impact`, `diff-lineage`, `setup-lineage`."""
