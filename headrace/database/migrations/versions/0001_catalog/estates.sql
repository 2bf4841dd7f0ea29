-- Scans of Autosys estates: where processes are defined, what they wait for, and candidate datasets.

-- A stored scan of the files of an estate. files: path, digest and size of each. counts: of what was found. changes: the
-- names of the processes that it added, changed, retired and so on, at most 1,000 of each. findings: the most severe 1,000.
CREATE TABLE catalog.estate_scan (
    scan_id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    instance        text COLLATE "C" NOT NULL,
    scanned_by      text NOT NULL,
    scanned_at      timestamptz NOT NULL DEFAULT now(),
    files           jsonb NOT NULL,
    counts          jsonb NOT NULL,
    changes         jsonb NOT NULL,
    findings        jsonb NOT NULL
);
CREATE INDEX estate_scan_newest ON catalog.estate_scan (organisation_id, instance, scanned_at DESC);

-- Consecutive texts of a file, so that an insertion above them moves them together. moved: by how many lines.
CREATE TABLE catalog.text_block (
    block_id        bigint PRIMARY KEY,
    organisation_id uuid NOT NULL,
    moved           integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- Where the newest scan found a process. text_digest: of the text that alone defines the process, by which the next
-- scan detects a change; null where statements elsewhere changed it. text_line: the first line of that text. lost: what
-- could not be read of it, as lines after that one. All lines are those before the block moved.
CREATE TABLE catalog.process_text (
    process_id      uuid PRIMARY KEY REFERENCES catalog.process,
    organisation_id uuid NOT NULL,
    block_id        bigint NOT NULL REFERENCES catalog.text_block,
    file            text NOT NULL,
    line            integer NOT NULL,
    text_line       integer NOT NULL,
    text_digest     text COLLATE "C",
    lost            jsonb
);
CREATE INDEX process_text_block ON catalog.process_text (block_id);

-- Other objects of the newest scan, as written: machines, resources, global variables, calendars and so on.
CREATE TABLE catalog.estate_object (
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    instance        text COLLATE "C" NOT NULL,
    kind            text COLLATE "C" NOT NULL,
    name            text COLLATE "C" NOT NULL,
    file            text NOT NULL,
    line            integer NOT NULL,
    source          text NOT NULL,
    PRIMARY KEY (organisation_id, instance, kind, name)
);

-- A process waits for another. The upstream process is stored by name, since no scan may have found it. orders: the
-- process runs after the upstream one; false for conditions that keep two apart or end a box. A dependency that ended
-- keeps its row.
CREATE TABLE catalog.process_dependency (
    dependency_id       uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id     uuid NOT NULL REFERENCES catalog.organisation,
    process_id          uuid NOT NULL REFERENCES catalog.process,
    upstream_technology text COLLATE "C" NOT NULL,
    upstream_instance   text COLLATE "C" NOT NULL,
    upstream_name       text COLLATE "C" NOT NULL,
    attribute           text COLLATE "C" NOT NULL,
    condition           text COLLATE "C" NOT NULL,
    orders              boolean NOT NULL,
    valid_from          timestamptz NOT NULL DEFAULT now(),
    valid_to            timestamptz
);
CREATE UNIQUE INDEX process_dependency_current ON catalog.process_dependency (
    process_id, attribute, condition, upstream_technology, upstream_instance, upstream_name
) WHERE valid_to IS NULL;
CREATE INDEX process_dependency_upstream
    ON catalog.process_dependency (organisation_id, upstream_technology, upstream_instance, upstream_name);
CREATE INDEX process_dependency_process ON catalog.process_dependency (process_id);

-- Files or tables that processes seem to use, with the decision of a person. dataset_id: of a confirmed candidate.
CREATE TABLE catalog.dataset_candidate (
    candidate_id    uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id uuid NOT NULL REFERENCES catalog.organisation,
    instance        text COLLATE "C" NOT NULL,
    pattern         text COLLATE "C" NOT NULL,
    status          text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'CONFIRMED', 'REJECTED')),
    dataset_id      uuid REFERENCES catalog.dataset CHECK ((dataset_id IS NOT NULL) = (status = 'CONFIRMED')),
    decided_by      text,
    decided_at      timestamptz,
    found_at        timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation_id, instance, pattern)
);
CREATE INDEX dataset_candidate_dataset ON catalog.dataset_candidate (dataset_id);

-- The strongest evidence that a process reads or writes a candidate. line: counted from the process's own line.
CREATE TABLE catalog.candidate_evidence (
    candidate_id    uuid NOT NULL REFERENCES catalog.dataset_candidate,
    process_id      uuid NOT NULL REFERENCES catalog.process,
    direction       text NOT NULL CHECK (direction IN ('reads', 'writes', 'unknown')),
    organisation_id uuid NOT NULL,
    confidence      double precision NOT NULL,
    attribute       text NOT NULL,
    excerpt         text NOT NULL,
    line            integer NOT NULL,
    PRIMARY KEY (candidate_id, process_id, direction)
);
CREATE INDEX candidate_evidence_process ON catalog.candidate_evidence (process_id);
