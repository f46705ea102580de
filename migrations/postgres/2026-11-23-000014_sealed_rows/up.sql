-- How many rows all chains have together, so that a chain that is gone with its seals is missed. Nodes of an earlier release
-- do not count, so there may be more.
ALTER TABLE sealing ADD COLUMN sealed_rows BIGINT NOT NULL DEFAULT 0;
UPDATE sealing SET sealed_rows = (SELECT CAST(COALESCE(SUM(rows), 0) AS BIGINT) FROM chains);
