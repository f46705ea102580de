-- A token of the operator's staff may end by itself.
ALTER TABLE operators ADD COLUMN expires_at INTEGER;
