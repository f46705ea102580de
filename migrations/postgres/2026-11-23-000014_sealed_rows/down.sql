ALTER TABLE sealing DROP COLUMN sealed_rows;
