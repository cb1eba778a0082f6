-- Triggers that record each change of the number of renders in a state. The file without `.postgres` in its name is that of SQLite.

CREATE FUNCTION record_inserted_renders() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO render_count_changes SELECT workspace_id, status, count(*) FROM inserted
    WHERE deleted_at IS NULL GROUP BY workspace_id, status;
    RETURN NULL;
END
$$;

CREATE FUNCTION record_changed_render() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO render_count_changes SELECT OLD.workspace_id, OLD.status, -1 WHERE OLD.deleted_at IS NULL;
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO render_count_changes SELECT NEW.workspace_id, NEW.status, 1 WHERE NEW.deleted_at IS NULL;
    END IF;
    RETURN NULL;
END
$$;

-- One row for all renders of a batch.
CREATE TRIGGER renders_counted_insert AFTER INSERT ON renders
REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION record_inserted_renders();

CREATE TRIGGER renders_counted_update AFTER UPDATE OF status, deleted_at ON renders
FOR EACH ROW WHEN (OLD.status <> NEW.status OR (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL))
EXECUTE FUNCTION record_changed_render();

CREATE TRIGGER renders_counted_delete AFTER DELETE ON renders
FOR EACH ROW EXECUTE FUNCTION record_changed_render();

-- All rows are soon deleted, so that the usual threshold, a fraction of the rows, says nothing.
ALTER TABLE render_count_changes SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
