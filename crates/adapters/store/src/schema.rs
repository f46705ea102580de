//! The tables as diesel sees them, the same for both databases.

diesel::table! {
    merchants (id) {
        id -> BigInt,
        name -> Text,
        api_version -> Text,
        status -> Text,
        success_url -> Nullable<Text>,
        cancel_url -> Nullable<Text>,
        sealed_secret_test -> Text,
        sealed_secret_live -> Text,
        created_at -> BigInt,
        former_secret_test -> Nullable<Text>,
        former_until_test -> Nullable<BigInt>,
        former_secret_live -> Nullable<Text>,
        former_until_live -> Nullable<BigInt>,
    }
}

diesel::table! {
    api_keys (key_id) {
        key_id -> Text,
        merchant_id -> BigInt,
        environment -> Text,
        name -> Text,
        hash -> Text,
        last_four -> Text,
        scopes -> Text,
        rate_limits -> Text,
        expires_at -> Nullable<BigInt>,
        revoked_at -> Nullable<BigInt>,
        last_used_at -> Nullable<BigInt>,
        created_at -> BigInt,
    }
}

diesel::table! {
    hmac_credentials (credential_id) {
        credential_id -> Text,
        merchant_id -> BigInt,
        environment -> Text,
        sealed_secret -> Text,
        rate_limits -> Text,
        revoked_at -> Nullable<BigInt>,
        created_at -> BigInt,
    }
}

diesel::table! {
    routes (merchant_id, environment, currency, method, direction, partner) {
        merchant_id -> BigInt,
        environment -> Text,
        currency -> Text,
        method -> Text,
        direction -> Text,
        partner -> Bool,
        document -> Text,
    }
}

diesel::table! {
    beneficiaries (merchant_id, environment, id) {
        merchant_id -> BigInt,
        environment -> Text,
        id -> Integer,
        kind -> Text,
        iban -> Text,
        swift -> Nullable<Text>,
        beneficiary_name -> Text,
        beneficiary_bank -> Nullable<Text>,
        address -> Nullable<Text>,
        reference -> Nullable<Text>,
        created_at -> BigInt,
    }
}

diesel::table! {
    operators (operator_id) {
        operator_id -> Text,
        name -> Text,
        role -> Text,
        token_hash -> Text,
        revoked_at -> Nullable<BigInt>,
        created_at -> BigInt,
        expires_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    audit_log (id) {
        id -> Text,
        at -> BigInt,
        actor_id -> Text,
        actor_name -> Text,
        action -> Text,
        merchant_id -> Nullable<BigInt>,
        subject -> Text,
        before -> Text,
        after -> Text,
    }
}

diesel::table! {
    customers (merchant_id, environment, id) {
        merchant_id -> BigInt,
        environment -> Text,
        id -> BigInt,
        email -> Nullable<Text>,
        phone -> Nullable<Text>,
        name -> Nullable<Text>,
        email_key -> Nullable<Text>,
        phone_key -> Nullable<Text>,
        created_at -> BigInt,
    }
}

diesel::table! {
    payments (merchant_id, environment, id) {
        merchant_id -> BigInt,
        environment -> Text,
        id -> Text,
        #[sql_name = "type"]
        kind -> Text,
        method -> Text,
        currency -> Text,
        amount -> BigInt,
        fee -> BigInt,
        merchant_reference -> Text,
        holds_reference -> Bool,
        customer_id -> BigInt,
        status -> Text,
        status_version -> Integer,
        rail -> Text,
        created_at -> BigInt,
        updated_at -> BigInt,
        expires_at -> Nullable<BigInt>,
        completed_at -> Nullable<BigInt>,
        refunded_amount -> BigInt,
        received_amount -> Nullable<BigInt>,
        late -> Bool,
        webhook_url -> Nullable<Text>,
        document -> Text,
        revision -> BigInt,
    }
}

diesel::table! {
    counters (merchant_id, environment, name, key1, key2, key3, key4) {
        merchant_id -> BigInt,
        environment -> Text,
        name -> Text,
        key1 -> Text,
        key2 -> Text,
        key3 -> Text,
        key4 -> Text,
        count -> BigInt,
    }
}

diesel::table! {
    work (queue, merchant_id, environment, subject) {
        queue -> Text,
        merchant_id -> BigInt,
        environment -> Text,
        subject -> Text,
        action -> Text,
        due_at -> BigInt,
        due_since -> BigInt,
        attempts -> Integer,
        turn -> BigInt,
        lease_node -> Nullable<Text>,
    }
}

diesel::table! {
    balances (merchant_id, environment, currency) {
        merchant_id -> BigInt,
        environment -> Text,
        currency -> Text,
        available -> BigInt,
        frozen -> BigInt,
        deposit -> BigInt,
        withdrawal -> BigInt,
        commission -> BigInt,
        adjustment -> BigInt,
    }
}

diesel::table! {
    entries (merchant_id, environment, transaction_id, line) {
        merchant_id -> BigInt,
        environment -> Text,
        transaction_id -> Text,
        line -> Integer,
        currency -> Text,
        account -> Text,
        amount -> BigInt,
        reason -> Text,
        payment_id -> Nullable<Text>,
        created_at -> BigInt,
    }
}

diesel::table! {
    events (merchant_id, environment, id) {
        merchant_id -> BigInt,
        environment -> Text,
        id -> Text,
        payment_id -> Nullable<Text>,
        #[sql_name = "type"]
        kind -> Text,
        status_version -> Nullable<Integer>,
        previous_status -> Nullable<Text>,
        status -> Nullable<Text>,
        payload -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    kept_answers (merchant_id, environment, audience, key) {
        merchant_id -> BigInt,
        environment -> Text,
        audience -> Text,
        key -> Text,
        body_hash -> Text,
        payment_id -> Nullable<Text>,
        status -> Integer,
        body -> Text,
        expires_at -> BigInt,
    }
}

diesel::table! {
    nonces (merchant_id, value) {
        merchant_id -> BigInt,
        value -> Text,
        expires_at -> BigInt,
    }
}

diesel::table! {
    callbacks (name) {
        name -> Text,
        id -> Text,
        merchant_id -> BigInt,
        environment -> Text,
        rail -> Text,
        event_id -> Text,
        #[sql_name = "type"]
        kind -> Text,
        rail_reference -> Text,
        payment_id -> Nullable<Text>,
        amount -> Nullable<BigInt>,
        currency -> Nullable<Text>,
        code -> Nullable<Text>,
        message -> Nullable<Text>,
        occurred_at -> Nullable<BigInt>,
        outcome -> Text,
        received_at -> BigInt,
    }
}

diesel::table! {
    receipts (merchant_id, environment, id) {
        merchant_id -> BigInt,
        environment -> Text,
        id -> Text,
        payment_id -> Nullable<Text>,
        rail -> Text,
        event_id -> Text,
        #[sql_name = "type"]
        kind -> Text,
        rail_reference -> Text,
        amount -> Nullable<BigInt>,
        currency -> Nullable<Text>,
        reason -> Text,
        created_at -> BigInt,
        resolution -> Nullable<Text>,
        resolved_at -> Nullable<BigInt>,
        revision -> BigInt,
        provider_reference -> Nullable<Text>,
    }
}

diesel::table! {
    refunds (merchant_id, environment, id) {
        merchant_id -> BigInt,
        environment -> Text,
        id -> Text,
        payment_id -> Text,
        amount -> BigInt,
        reason -> Nullable<Text>,
        ticket_id -> Nullable<Text>,
        created_at -> BigInt,
    }
}

diesel::table! {
    alerts (merchant_id, environment, payment_id) {
        merchant_id -> BigInt,
        environment -> Text,
        payment_id -> Text,
        alerted_at -> BigInt,
    }
}

diesel::table! {
    bank_exports (merchant_id, environment, id) {
        merchant_id -> BigInt,
        environment -> Text,
        id -> Text,
        currency -> Text,
        method -> Text,
        partner -> Bool,
        created_at -> BigInt,
    }
}

diesel::table! {
    bank_export_payments (merchant_id, environment, payment_id) {
        merchant_id -> BigInt,
        environment -> Text,
        payment_id -> Text,
        export_id -> Text,
    }
}

diesel::table! {
    payment_pages (hash) {
        hash -> Text,
        merchant_id -> BigInt,
        environment -> Text,
        payment_id -> Text,
    }
}

diesel::table! {
    merchant_pages (merchant_id) {
        merchant_id -> BigInt,
        name -> Nullable<Text>,
        accent -> Nullable<Text>,
        logo -> Nullable<Text>,
        picture -> Nullable<Binary>,
    }
}

diesel::table! {
    page_keys (id) {
        id -> Integer,
        sealed -> Text,
    }
}

diesel::table! {
    webhook_endpoints (merchant_id, environment, id) {
        merchant_id -> BigInt,
        environment -> Text,
        id -> Text,
        source -> Text,
        url -> Text,
        events -> Text,
        description -> Nullable<Text>,
        sealed_secret -> Nullable<Text>,
        enabled -> Bool,
        disabled_reason -> Nullable<Text>,
        failing_since -> Nullable<BigInt>,
        created_at -> BigInt,
        updated_at -> BigInt,
        removed_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    deliveries (merchant_id, environment, endpoint_id, event_id) {
        merchant_id -> BigInt,
        environment -> Text,
        endpoint_id -> Text,
        event_id -> Text,
        status -> Integer,
        due_at -> Nullable<BigInt>,
        node -> Nullable<Text>,
        step -> Integer,
        attempts -> Nullable<Text>,
        error -> Nullable<Text>,
    }
}

diesel::table! {
    tickets (merchant_id, environment, id) {
        merchant_id -> BigInt,
        environment -> Text,
        id -> Text,
        title -> Text,
        description -> Nullable<Text>,
        category -> Text,
        sub_category -> Nullable<Text>,
        payment_id -> Nullable<Text>,
        transaction_id -> Nullable<Text>,
        reference -> Nullable<Text>,
        requires_refund -> Bool,
        created_at -> BigInt,
        status -> Text,
        status_rank -> Integer,
        queue_rank -> Integer,
        assignee -> Nullable<Text>,
        resolution_summary -> Nullable<Text>,
        updated_at -> BigInt,
        resolved_at -> Nullable<BigInt>,
        last_activity_at -> BigInt,
        revision -> BigInt,
    }
}

diesel::table! {
    ticket_comments (merchant_id, environment, ticket_id, id) {
        merchant_id -> BigInt,
        environment -> Text,
        ticket_id -> Text,
        id -> BigInt,
        author_type -> Text,
        author_id -> Nullable<Text>,
        author_name -> Nullable<Text>,
        body -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    ticket_notes (merchant_id, environment, ticket_id, id) {
        merchant_id -> BigInt,
        environment -> Text,
        ticket_id -> Text,
        id -> BigInt,
        author_id -> Text,
        author_name -> Text,
        body -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    ticket_uploads (merchant_id, environment, id) {
        merchant_id -> BigInt,
        environment -> Text,
        id -> Text,
        ticket_id -> Text,
        filename -> Text,
        content_type -> Text,
        issued_at -> BigInt,
        expires_at -> BigInt,
        object -> Nullable<Text>,
        size -> Nullable<BigInt>,
        spent -> Bool,
        revision -> BigInt,
    }
}

diesel::table! {
    ticket_attachments (merchant_id, environment, id) {
        merchant_id -> BigInt,
        environment -> Text,
        id -> Text,
        ticket_id -> Text,
        comment_id -> BigInt,
        place -> Integer,
        name -> Text,
        content_type -> Text,
        size -> BigInt,
        object -> Text,
    }
}

diesel::table! {
    ticket_thumbnails (merchant_id, environment, attachment_id) {
        merchant_id -> BigInt,
        environment -> Text,
        attachment_id -> Text,
        object -> Text,
        content_type -> Text,
    }
}

diesel::table! {
    chains (book, merchant_id, environment) {
        book -> Text,
        merchant_id -> BigInt,
        environment -> Text,
        rows -> BigInt,
        hash -> Text,
        upto_at -> BigInt,
        upto_id -> Text,
        sealed_at -> BigInt,
    }
}

diesel::table! {
    seals (book, merchant_id, environment, rows) {
        book -> Text,
        merchant_id -> BigInt,
        environment -> Text,
        rows -> BigInt,
        hash -> Text,
        upto_at -> BigInt,
        upto_id -> Text,
        sealed_at -> BigInt,
    }
}

diesel::table! {
    sealing (id) {
        id -> Integer,
        node -> Text,
        lease_until -> BigInt,
        sealed_until -> BigInt,
        sealed_rows -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(payments, bank_export_payments);
diesel::allow_tables_to_appear_in_same_query!(webhook_endpoints, deliveries);
