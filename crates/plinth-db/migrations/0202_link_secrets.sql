-- Secrets that sign links to local files. A link names the id of its secret; the first one of an old installation has none.

CREATE TABLE link_secrets (
    id TEXT PRIMARY KEY,
    secret TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ends_at BIGINT
);
INSERT INTO link_secrets SELECT '', value, 0, CAST(NULL AS BIGINT) FROM instance WHERE key = 'link_secret';
DELETE FROM instance WHERE key = 'link_secret';
