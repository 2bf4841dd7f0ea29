"""Draw the processes of a scanned estate as external assets beside the project's datasets."""
