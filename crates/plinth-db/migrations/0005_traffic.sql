-- Rate windows, objects to remove, and what an installation keeps of itself.

CREATE TABLE rate_windows (
    key TEXT PRIMARY KEY,
    started_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    requests BIGINT NOT NULL
);
CREATE INDEX rate_windows_age ON rate_windows (ends_at);

-- Objects under these prefixes are no longer named by any row and are removed from the store when due.
CREATE TABLE garbage (
    prefix TEXT PRIMARY KEY,
    due_at BIGINT NOT NULL
);
CREATE INDEX garbage_due ON garbage (due_at);

CREATE TABLE instance (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
