-- Replaces the statistics of the columns of a version.
UPDATE catalog.dataset_version SET statistics = %(statistics)s WHERE dataset_version_id = %(version_id)s
