//! References between rows: every row that names another row names one that exists.

/// The event and endpoint of a delivery, the payment of a refund or page, and the customer of a payment
/// exist, and a hosted payment has its page.
pub(super) const OF_PAYMENTS: &str = "
    SELECT subject, detail FROM (
        SELECT CAST(line.merchant_id AS TEXT) || '/' || line.environment || ' delivery of ' || line.event_id AS subject,
            'there is no such event' AS detail
        FROM deliveries AS line LEFT JOIN events AS event ON event.merchant_id = line.merchant_id
            AND event.environment = line.environment AND event.id = line.event_id
        WHERE event.id IS NULL
        UNION ALL
        SELECT CAST(line.merchant_id AS TEXT) || '/' || line.environment || ' delivery of ' || line.event_id,
            'there is no such endpoint as ' || line.endpoint_id
        FROM deliveries AS line LEFT JOIN webhook_endpoints AS endpoint ON endpoint.merchant_id = line.merchant_id
            AND endpoint.environment = line.environment AND endpoint.id = line.endpoint_id
        WHERE endpoint.id IS NULL
        UNION ALL
        SELECT CAST(payment.merchant_id AS TEXT) || '/' || payment.environment || ' ' || payment.id, 'has no page'
        FROM payments AS payment LEFT JOIN payment_pages AS page ON page.merchant_id = payment.merchant_id
            AND page.environment = payment.environment AND page.payment_id = payment.id
        WHERE payment.type IN ('deposit_pp', 'withdrawal_pp') AND page.payment_id IS NULL
        UNION ALL
        SELECT CAST(line.merchant_id AS TEXT) || '/' || line.environment || ' refund ' || line.id,
            'there is no such payment as ' || line.payment_id
        FROM refunds AS line LEFT JOIN payments AS payment ON payment.merchant_id = line.merchant_id
            AND payment.environment = line.environment AND payment.id = line.payment_id
        WHERE payment.id IS NULL
        UNION ALL
        SELECT CAST(line.merchant_id AS TEXT) || '/' || line.environment || ' page of ' || line.payment_id,
            'there is no such payment'
        FROM payment_pages AS line LEFT JOIN payments AS payment ON payment.merchant_id = line.merchant_id
            AND payment.environment = line.environment AND payment.id = line.payment_id
        WHERE payment.id IS NULL
        UNION ALL
        SELECT CAST(line.merchant_id AS TEXT) || '/' || line.environment || ' ' || line.id,
            'there is no such customer as ' || CAST(line.customer_id AS TEXT)
        FROM payments AS line LEFT JOIN customers AS customer ON customer.merchant_id = line.merchant_id
            AND customer.environment = line.environment AND customer.id = line.customer_id
        WHERE customer.id IS NULL
    ) AS lost
    LIMIT 100";

/// The merchant of every route, credential and beneficiary exists.
pub(super) const OF_MERCHANTS: &str = "
    SELECT 'merchant ' || CAST(line.merchant_id AS TEXT) AS subject, 'has ' || line.what || ' and is not there' AS detail
    FROM (
        SELECT merchant_id, 'routes' AS what FROM routes
        UNION SELECT merchant_id, 'API keys' FROM api_keys
        UNION SELECT merchant_id, 'credentials' FROM hmac_credentials
        UNION SELECT merchant_id, 'beneficiaries' FROM beneficiaries
    ) AS line LEFT JOIN merchants AS merchant ON merchant.id = line.merchant_id
    WHERE merchant.id IS NULL
    LIMIT 100";

/// The files for the bank contain as many withdrawals as the audit log tells of, each of the file's currency and method.
pub(super) const OF_BANK_FILES: &str = "
    SELECT subject, detail FROM (
        SELECT subject, 'contains ' || CAST(SUM(kept) AS TEXT) || ' withdrawals; the audit log tells of '
            || CAST(SUM(told) AS TEXT) || ' in ' || CAST(SUM(lines) AS TEXT) || ' files' AS detail
        FROM (
            SELECT 'bank_export/' || id AS subject, 1 AS files, 0 AS lines, 0 AS kept, 0 AS told FROM bank_exports
            UNION ALL
            SELECT 'bank_export/' || export_id, 0, 0, 1, 0 FROM bank_export_payments
            UNION ALL
            SELECT subject, 0, 1, 0, (length(after) - length(replace(after, 'pay_', ''))) / 4
            FROM audit_log WHERE action = 'bank.export'
        ) AS one
        GROUP BY subject HAVING SUM(files) <> SUM(lines) OR SUM(kept) <> SUM(told)
        UNION ALL
        SELECT 'bank_export/' || line.export_id, 'contains ' || line.payment_id || ', which it cannot'
        FROM bank_export_payments AS line LEFT JOIN bank_exports AS file ON file.merchant_id = line.merchant_id
            AND file.environment = line.environment AND file.id = line.export_id
        LEFT JOIN payments AS payment ON payment.merchant_id = line.merchant_id
            AND payment.environment = line.environment AND payment.id = line.payment_id
        WHERE file.id IS NULL OR payment.id IS NULL OR payment.type NOT IN ('withdrawal', 'withdrawal_pp')
            OR payment.currency <> file.currency OR payment.method <> file.method
    ) AS wrong
    LIMIT 100";
