//! The range of stored numbers. A number far outside it makes the sums of the other statements fail, so that they
//! name nothing.

/// Amounts are in the kernel's range, and instants by which something is due or counted are between 1970 and as many
/// milliseconds later.
pub(super) const NUMBERS: &str = "
    SELECT subject, detail FROM (
        SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' transaction ' || transaction_id AS subject,
            'moves ' || CAST(amount AS TEXT) AS detail
        FROM entries WHERE amount NOT BETWEEN -9007199254740991 AND 9007199254740991
        UNION ALL
        SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' ' || id,
            'amount ' || CAST(amount AS TEXT) || ', fee ' || CAST(fee AS TEXT) || ', received '
                || COALESCE(CAST(received_amount AS TEXT), 'nothing else') || ', refunded '
                || CAST(refunded_amount AS TEXT) || ', made at ' || CAST(created_at AS TEXT) || ', expires at '
                || COALESCE(CAST(expires_at AS TEXT), 'no time')
        FROM payments WHERE amount NOT BETWEEN 0 AND 9007199254740991 OR fee NOT BETWEEN 0 AND 9007199254740991
            OR received_amount NOT BETWEEN 0 AND 9007199254740991
            OR refunded_amount NOT BETWEEN 0 AND 9007199254740991
            OR created_at NOT BETWEEN 0 AND 9007199254740991 OR expires_at NOT BETWEEN 0 AND 9007199254740991
        UNION ALL
        SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' refund ' || id, 'of ' || CAST(amount AS TEXT)
        FROM refunds WHERE amount NOT BETWEEN 0 AND 9007199254740991
        UNION ALL
        SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' ' || currency,
            'kept ' || CAST(available AS TEXT) || ' available, ' || CAST(frozen AS TEXT) || ' frozen, '
                || CAST(deposit AS TEXT) || ' deposit, ' || CAST(withdrawal AS TEXT) || ' withdrawal, '
                || CAST(commission AS TEXT) || ' commission, ' || CAST(adjustment AS TEXT) || ' adjustment'
        FROM balances WHERE available NOT BETWEEN -9007199254740991 AND 9007199254740991
            OR frozen NOT BETWEEN -9007199254740991 AND 9007199254740991
            OR deposit NOT BETWEEN -9007199254740991 AND 9007199254740991
            OR withdrawal NOT BETWEEN -9007199254740991 AND 9007199254740991
            OR commission NOT BETWEEN -9007199254740991 AND 9007199254740991
            OR adjustment NOT BETWEEN -9007199254740991 AND 9007199254740991
        UNION ALL
        SELECT subject, 'the audit log tells of a correction of ' || CAST(AMOUNT_OF(after) AS TEXT)
        FROM audit_log WHERE action = 'balance.adjust'
            AND AMOUNT_OF(after) NOT BETWEEN -9007199254740991 AND 9007199254740991
        UNION ALL
        SELECT CAST(merchant_id AS TEXT) || '/' || environment || ' ' || subject, 'is due at ' || CAST(due_at AS TEXT)
        FROM work WHERE queue = 'settlement' AND due_at NOT BETWEEN 0 AND 9007199254740991
    ) AS beyond
    LIMIT 100";
