-- Workers, as they report themselves several times a minute, and how many renders ended how in each five minutes. No index has the
-- columns that change, so that PostgreSQL updates the rows without touching any index.

CREATE TABLE workers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    pool TEXT NOT NULL,
    takes TEXT NOT NULL,
    version TEXT NOT NULL,
    adapter TEXT NOT NULL,
    encoder TEXT NOT NULL,
    slots BIGINT NOT NULL,
    state TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL
);

-- Renders that end at the same time are counted in several rows, the shards, so that their workers do not wait for each other.
CREATE TABLE outcomes (
    period BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    shard BIGINT NOT NULL,
    jobs BIGINT NOT NULL,
    PRIMARY KEY (period, outcome, shard)
);
