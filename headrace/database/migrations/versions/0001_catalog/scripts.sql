-- The repeatable scripts that the catalog has (functions, triggers, views): each with the digest of its text.
-- platform_version: the newest platform that applied them, the same in every row.
CREATE TABLE catalog.repeatable_script (
    name             text COLLATE "C" PRIMARY KEY,
    digest           text COLLATE "C" NOT NULL,
    platform_version text NOT NULL,
    applied_at       timestamptz NOT NULL DEFAULT now()
);
