-- While a row here has not run out, no object is removed from the store: somebody copies it.

CREATE TABLE holds (
    id TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
