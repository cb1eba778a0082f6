-- How large the files of staged uploads are, as far as that is known.

ALTER TABLE staged_uploads ADD COLUMN size BIGINT NOT NULL DEFAULT 0;
