-- How often the worker of the HLS packaging was lost. `losses` counts only workers that were lost while they rendered, and
-- `hls_attempt` also counts claims that the worker released.

ALTER TABLE renders ADD COLUMN hls_losses BIGINT NOT NULL DEFAULT 0;
