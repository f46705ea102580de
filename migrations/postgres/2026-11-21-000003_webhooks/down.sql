ALTER TABLE merchants DROP COLUMN former_secret_test;
ALTER TABLE merchants DROP COLUMN former_until_test;
ALTER TABLE merchants DROP COLUMN former_secret_live;
ALTER TABLE merchants DROP COLUMN former_until_live;
DROP TABLE deliveries;
DROP TABLE webhook_endpoints;
DELETE FROM counters WHERE name = 'deliveries';
