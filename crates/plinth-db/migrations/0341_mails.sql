-- Mails that wait to be sent. A server claims a mail by moving `due_at` to the time at which others may try again. Rows contain no
-- secret: the link of a mail is created when the mail is sent.

CREATE TABLE mails (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    recipient TEXT NOT NULL,
    link_base TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL
);

CREATE INDEX mails_due ON mails (due_at);
