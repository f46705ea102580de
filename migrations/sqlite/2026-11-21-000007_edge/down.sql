ALTER TABLE operators DROP COLUMN expires_at;
