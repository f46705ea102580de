-- A list of endpoints is read in the order of the index.
DROP INDEX webhook_endpoints_of_tenant;
CREATE INDEX webhook_endpoints_by_creation ON webhook_endpoints (merchant_id, environment, source, created_at, id)
    WHERE removed_at IS NULL;
-- An endpoint that was disabled because it fails keeps the time since when it does, and is not looked for any more.
DROP INDEX webhook_endpoints_failing;
CREATE INDEX webhook_endpoints_failing ON webhook_endpoints (failing_since)
    WHERE failing_since IS NOT NULL AND enabled AND removed_at IS NULL;
-- Removed endpoints are found in the order of identifiers.
DROP INDEX webhook_endpoints_removed;

-- The next number is found from those of all merchants. Databases that an earlier commit filled may have one twice.
CREATE INDEX beneficiaries_by_id ON beneficiaries (id);
-- The operator knows a file by its identifier alone.
CREATE UNIQUE INDEX bank_exports_by_id ON bank_exports (id);
