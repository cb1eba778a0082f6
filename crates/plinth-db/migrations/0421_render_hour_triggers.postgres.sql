-- Triggers that record in which hour renders changed last. Most changes of a render are in the hour of the change before, and record
-- nothing. The file without `.postgres` in its name is that of SQLite.

CREATE FUNCTION record_hours_of_inserted_renders() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO render_hour_changes SELECT workspace_id, updated_at / 3600000, count(*) FROM inserted
    WHERE deleted_at IS NULL GROUP BY workspace_id, updated_at / 3600000;
    RETURN NULL;
END
$$;

CREATE FUNCTION record_hours_of_changed_render() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO render_hour_changes SELECT OLD.workspace_id, OLD.updated_at / 3600000, -1 WHERE OLD.deleted_at IS NULL;
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO render_hour_changes SELECT NEW.workspace_id, NEW.updated_at / 3600000, 1 WHERE NEW.deleted_at IS NULL;
    END IF;
    RETURN NULL;
END
$$;

-- One row for all renders of a batch.
CREATE TRIGGER renders_hour_insert AFTER INSERT ON renders
REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION record_hours_of_inserted_renders();

CREATE TRIGGER renders_hour_update AFTER UPDATE OF updated_at, deleted_at ON renders
FOR EACH ROW WHEN (OLD.updated_at / 3600000 <> NEW.updated_at / 3600000
    OR (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL))
EXECUTE FUNCTION record_hours_of_changed_render();

CREATE TRIGGER renders_hour_delete AFTER DELETE ON renders
FOR EACH ROW EXECUTE FUNCTION record_hours_of_changed_render();

-- All rows are soon deleted, so that the usual threshold, a fraction of the rows, says nothing.
ALTER TABLE render_hour_changes SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
