"""The files store: versions are the data files themselves."""

from headrace.stores.data_files.store import DataFileStore


class FilesStore(DataFileStore):
    """Writes and reads versions at `<warehouse>/<domain>/<name>/<tag>`."""
