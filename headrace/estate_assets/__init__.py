"""External assets for the processes of a scanned estate, next to the project's datasets."""
