//! Counters for the totals of lists, other than those of payments.

/// The counters are equal to the number of tickets.
pub(super) const TICKETS: &str = "
    WITH counted AS (
        SELECT merchant_id, environment, status, category, COUNT(*) AS count
        FROM tickets GROUP BY merchant_id, environment, status, category
    ), kept AS (
        SELECT merchant_id, environment, key1 AS status, key2 AS category, count FROM counters WHERE name = 'tickets'
    )
    SELECT CAST(COALESCE(kept.merchant_id, counted.merchant_id) AS TEXT) || '/'
            || COALESCE(kept.environment, counted.environment) || ' tickets ' || COALESCE(kept.status, counted.status)
            || ' ' || COALESCE(kept.category, counted.category) AS subject,
        'counted ' || CAST(COALESCE(kept.count, 0) AS TEXT) || '; there are '
            || CAST(COALESCE(counted.count, 0) AS TEXT) AS detail
    FROM kept FULL JOIN counted ON kept.merchant_id = counted.merchant_id
        AND kept.environment = counted.environment AND kept.status = counted.status
        AND kept.category = counted.category
    WHERE COALESCE(kept.count, 0) <> COALESCE(counted.count, 0)
    LIMIT 100";

/// The counters are equal to the number of deliveries of each endpoint, and of those that have ended, unless
/// the endpoint was removed.
pub(super) const DELIVERIES: &str = "
    WITH lines AS (
        SELECT line.merchant_id, line.environment, line.endpoint_id, line.status
        FROM deliveries AS line JOIN webhook_endpoints AS endpoint ON endpoint.merchant_id = line.merchant_id
            AND endpoint.environment = line.environment AND endpoint.id = line.endpoint_id
        WHERE endpoint.removed_at IS NULL
    ), counted AS (
        SELECT merchant_id, environment, endpoint_id, 'all' AS word, COUNT(*) AS count
        FROM lines GROUP BY merchant_id, environment, endpoint_id
        UNION ALL
        SELECT merchant_id, environment, endpoint_id, CASE WHEN status = 1 THEN 'delivered' ELSE 'failed' END, COUNT(*)
        FROM lines WHERE status IN (1, 2) GROUP BY 1, 2, 3, 4
    ), kept AS (
        SELECT kept.merchant_id, kept.environment, kept.key1 AS endpoint_id, kept.key2 AS word, kept.count
        FROM counters AS kept JOIN webhook_endpoints AS endpoint ON endpoint.merchant_id = kept.merchant_id
            AND endpoint.environment = kept.environment AND endpoint.id = kept.key1
        WHERE kept.name = 'deliveries' AND endpoint.removed_at IS NULL
    )
    SELECT CAST(COALESCE(kept.merchant_id, counted.merchant_id) AS TEXT) || '/'
            || COALESCE(kept.environment, counted.environment) || ' deliveries of '
            || COALESCE(kept.endpoint_id, counted.endpoint_id) || ' ' || COALESCE(kept.word, counted.word) AS subject,
        'counted ' || CAST(COALESCE(kept.count, 0) AS TEXT) || '; there are '
            || CAST(COALESCE(counted.count, 0) AS TEXT) AS detail
    FROM kept FULL JOIN counted ON kept.merchant_id = counted.merchant_id
        AND kept.environment = counted.environment AND kept.endpoint_id = counted.endpoint_id
        AND kept.word = counted.word
    WHERE COALESCE(kept.count, 0) <> COALESCE(counted.count, 0)
    LIMIT 100";
