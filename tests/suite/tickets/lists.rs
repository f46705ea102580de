//! Lists of tickets.

use quipu_tests::{Database, Gateway, draft, instant_in, on_both_databases};
use serde_json::{Value, json};

use super::desk::{id_of, invalid, next_millisecond, opened, path, plain, set_status};

on_both_databases!(
    a_list_shows_summaries_and_exact_totals,
    a_list_is_narrowed_by_every_filter,
    a_list_is_sorted_as_asked,
    a_search_takes_every_character_as_it_stands,
    the_total_of_a_common_word_stays_exact,
    a_search_made_again_shows_what_came_since,
);

async fn ids(api: &quipu_tests::Client, query: &str) -> Vec<String> {
    let list = api.get(&format!("/api/v1/tickets{query}")).await.ok();
    let ids: Vec<_> = list["data"].as_array().expect("a list").iter().map(id_of).collect();
    let within = |name: &str, usual: u64| {
        let given = query.split(['?', '&']).find_map(|part| part.strip_prefix(&format!("{name}=")));
        given.map_or(usual, |given| given.parse().expect("a number"))
    };
    let (limit, offset) = (within("limit", 20), within("offset", 0));
    let total = list["total"].as_u64().expect("a total");
    assert_eq!(ids.len() as u64, total.saturating_sub(offset).min(limit), "{query}: {list}");
    assert_eq!(list["pagination"]["total"], total);
    ids
}

async fn a_list_shows_summaries_and_exact_totals(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let empty = merchant.api.get("/api/v1/tickets").await.ok();
    assert_eq!(
        empty,
        json!({
            "success": true, "data": [], "total": 0,
            "pagination": { "total": 0, "limit": 20, "offset": 0, "total_pages": 0 },
        })
    );
    let mut opened = Vec::new();
    for _ in 0..23 {
        opened.push(plain(&merchant.api).await);
    }
    opened.reverse();
    assert_eq!(ids(&merchant.api, "").await, opened[..20], "newest first");
    assert_eq!(ids(&merchant.api, "?limit=100").await, opened, "as many as may be asked for");
    assert_eq!(ids(&merchant.api, "?limit=5&offset=20").await, opened[20..]);
    assert_eq!(ids(&merchant.api, "?limit=5&offset=23").await, [""; 0]);
    let list = merchant.api.get("/api/v1/tickets?limit=5").await.ok();
    assert_eq!(list["pagination"], json!({ "total": 23, "limit": 5, "offset": 0, "total_pages": 5 }));
    let whole = merchant.api.get(&path(&opened[0], "")).await.data();
    let mut expected = json!({});
    for name in [
        "ticket_id",
        "title",
        "status",
        "category",
        "payment_id",
        "requires_refund",
        "created_at",
        "updated_at",
        "last_activity_at",
    ] {
        expected[name] = whole[name].clone();
    }
    assert_eq!(list["data"][0], expected);
}

async fn a_list_is_narrowed_by_every_filter(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let api = &merchant.api;
    let payment = merchant.create(&draft::deposit_mxn(500)).await;
    let bug = opened(api, json!({ "title": "alpha", "category": "bug", "payment_id": payment })).await;
    let question =
        opened(api, json!({ "title": "beta", "category": "question", "description": "ALPHA" })).await;
    let closed = opened(api, json!({ "title": "gamma", "category": "bug" })).await;
    api.post_empty(&path(&closed, "/close")).await.data();
    let (past, future) = ("2020-01-01", instant_in(std::time::Duration::from_hours(24)));
    for (query, expected) in [
        ("?status=open".to_owned(), vec![&question, &bug]),
        ("?status=closed".to_owned(), vec![&closed]),
        ("?status=closed&status=open".to_owned(), vec![&closed, &question, &bug]),
        ("?category=bug".to_owned(), vec![&closed, &bug]),
        ("?category=bug&category=question&status=open".to_owned(), vec![&question, &bug]),
        ("?search=alpha".to_owned(), vec![&question, &bug]),
        ("?search=".to_owned(), vec![&closed, &question, &bug]),
        ("?search=Alpha&category=bug".to_owned(), vec![&bug]),
        (format!("?payment_id={payment}"), vec![&bug]),
        ("?payment_id=pay_1763683200000_aaaaaaaaaaaa".to_owned(), vec![]),
        (format!("?created_after={past}&created_before={future}"), vec![&closed, &question, &bug]),
        (format!("?created_after={future}"), vec![]),
        (format!("?created_before={past}&search=alpha"), vec![]),
    ] {
        assert_eq!(ids(api, &query).await.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    let record = api.get(&path(&bug, "")).await.data();
    let at = record["created_at"].as_str().expect("an instant");
    assert!(
        ids(api, &format!("?created_after={at}&created_before={at}")).await.contains(&bug),
        "ends included"
    );
}

async fn a_list_is_sorted_as_asked(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let api = &merchant.api;
    let [a, b, c] = [plain(api).await, plain(api).await, plain(api).await];
    set_status(&gateway, &b, "in_progress").await;
    next_millisecond().await;
    api.post_empty(&path(&a, "/close")).await.data();
    next_millisecond().await;
    api.post(&path(&b, "/comments"), &json!({ "body": "last" })).await;
    for (query, expected) in [
        ("?sort_by=created_at", [&c, &b, &a]),
        ("?sort_order=asc", [&a, &b, &c]),
        ("?sort_by=updated_at", [&a, &b, &c]),
        ("?sort_by=updated_at&sort_order=asc", [&c, &b, &a]),
        ("?sort_by=last_activity_at", [&b, &a, &c]),
        ("?sort_by=last_activity_at&sort_order=asc", [&c, &a, &b]),
        ("?sort_by=status", [&a, &b, &c]),
        ("?sort_by=status&sort_order=asc", [&c, &b, &a]),
    ] {
        assert_eq!(ids(api, query).await.iter().collect::<Vec<_>>(), expected, "{query}");
    }
}

async fn a_search_takes_every_character_as_it_stands(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, other) = (gateway.merchant().await, gateway.merchant().await);
    let api = &merchant.api;
    opened(&other.api, json!({ "title": "100% of Ñandú's \"order\"_7 \\ end" })).await;
    let id =
        opened(api, json!({ "title": "100% of Ñandú's \"order\"_7 \\ end", "description": "straße\n\t12" }))
            .await;
    opened(api, json!({ "title": "1000 others", "description": "orderX7" })).await;
    for found in [
        "100%25",
        "%25",
        "_",
        "_7",
        "%25 OF",
        "ñandú",
        "ÑANDÚ",
        "'s",
        "\"ORDER\"",
        "\\",
        "\\ e",
        "STRASSE",
        "aß",
        "of Ñ",
        "sse%0A%0912",
    ] {
        let query = format!("?search={}", found.replace(' ', "+").replace('"', "%22").replace('\\', "%5C"));
        assert_eq!(ids(api, &query).await, std::slice::from_ref(&id), "{found}");
    }
    for missed in
        ["100%25%25", "__", "order_7", "n%C3%A1ndu", "end straße", "end%20OR%20100", "*", "ord*", "-100"]
    {
        let query = format!("?search={}", missed.replace(' ', "+"));
        assert_eq!(ids(api, &query).await, [""; 0], "{missed}");
    }
    let longest: Value = "x".repeat(100).into();
    ids(api, &format!("?search={}", longest.as_str().expect("a text"))).await;
}

/// Every wrong value has its row in `crates/adapters/http/tests/edge/tables.rs`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_parameter_is_named() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let api = gateway.merchant().await.api;
    for (query, field) in
        [("status=open&status=gone", "status"), ("search=%00", "search"), ("sort_by=title", "sort_by")]
    {
        invalid(&api.get(&format!("/api/v1/tickets?{query}")).await, field);
    }
    api.get("/api/v1/tickets?unknown=1").await.ok();
}

/// A word in more tickets than are counted one by one each time.
async fn the_total_of_a_common_word_stays_exact(database: Database) {
    const MANY: u64 = 1_010;
    let setup = quipu_tests::Setup::new(database).set("LIMITS__STANDARD_PER_MINUTE", "100000");
    let gateway = setup.start().await;
    let (merchant, other) = (gateway.merchant().await, gateway.merchant().await);
    let api = &merchant.api;
    let numbers: Vec<_> = (0..MANY).collect();
    for some in numbers.chunks(50) {
        let one = |number: &u64| {
            let category = if number.is_multiple_of(10) { "bug" } else { "question" };
            opened(api, json!({ "title": format!("Common {number}"), "category": category }))
        };
        futures_util::future::join_all(some.iter().map(one)).await;
    }
    opened(&other.api, json!({ "title": "common elsewhere" })).await;
    let total = async |query: &str| {
        let list = api.get(&format!("/api/v1/tickets?limit=1&search={query}")).await.ok();
        list["total"].as_u64().expect("a total")
    };
    for expected in MANY..MANY + 3 {
        // The first count is remembered, the second follows from it.
        for _ in 0..2 {
            assert_eq!(total("common").await, expected);
            assert_eq!(total("COMMON&category=bug").await, MANY / 10 + (expected - MANY));
            assert_eq!(total("common&status=open").await, expected);
            assert_eq!(total("nowhere").await, 0);
        }
        opened(api, json!({ "title": "uncommonly", "category": "bug" })).await;
        opened(api, json!({ "title": "another word", "category": "bug" })).await;
    }
    assert_eq!(total("co").await, MANY + 3, "two letters");
    let last = ids(api, "?search=common&limit=5&offset=1010").await;
    assert_eq!(last.len(), 3);
}

async fn a_search_made_again_shows_what_came_since(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let api = &merchant.api;
    let mut newest_first = Vec::new();
    for number in 0..7 {
        newest_first.insert(0, opened(api, json!({ "title": format!("marble {number}") })).await);
        plain(api).await;
        // Each page is asked for twice, so that the second answer may come from memory.
        for _ in 0..2 {
            let page = async |query: &str| ids(api, &format!("?search=marble{query}")).await;
            assert_eq!(page("").await, newest_first);
            assert_eq!(page("&sort_by=updated_at").await, newest_first);
            let oldest_first: Vec<_> = newest_first.iter().rev().cloned().collect();
            assert_eq!(page("&sort_order=asc").await, oldest_first);
            let second: Vec<_> = newest_first.iter().skip(2).take(2).cloned().collect();
            assert_eq!(page("&limit=2&offset=2").await, second);
        }
    }
    // What is shown of a ticket is as it stands, whenever its place was remembered.
    set_status(&gateway, &newest_first[0], "in_progress").await;
    let list = api.get("/api/v1/tickets?search=marble").await.ok();
    assert_eq!(list["data"][0]["status"], "in_progress");
    assert_eq!(ids(api, "?search=marble&status=in_progress").await, newest_first[..1]);
}
