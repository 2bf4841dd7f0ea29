"""External assets for the processes of a scanned estate, beside the project's datasets."""
