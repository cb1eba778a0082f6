-- What the check of a model's file found in it besides the names of meshes, materials and animations, as JSON. Models that were
-- uploaded before have no row.

CREATE TABLE model_contents (
    model_id TEXT PRIMARY KEY REFERENCES models (id),
    contents TEXT NOT NULL
);
