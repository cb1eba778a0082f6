-- How many bytes the files of each workspace have in the store. The size of a render that was finished by a program which does not
-- know these columns is NULL until it is measured.

CREATE TABLE storage (
    workspace_id TEXT PRIMARY KEY,
    bytes BIGINT NOT NULL
);
INSERT INTO storage SELECT workspace_id, CAST(sum(file_size) AS BIGINT) FROM (
    SELECT workspace_id, file_size FROM models
    UNION ALL SELECT workspace_id, file_size FROM overlays
    UNION ALL SELECT workspace_id, file_size FROM textures
    UNION ALL SELECT workspace_id, file_size FROM envs
) AS files GROUP BY workspace_id;

ALTER TABLE renders ADD COLUMN stored_bytes BIGINT;
CREATE INDEX renders_unmeasured ON renders (id) WHERE files IS NOT NULL AND stored_bytes IS NULL AND deleted_at IS NULL;
