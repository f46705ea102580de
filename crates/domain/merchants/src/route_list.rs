//! Reads a list of routes that the operator wrote.

use std::{collections::BTreeSet, fmt::Display};

use quipu_kernel::{Currency, Environment, Fields, Minor, Problems, unless_blank};
use serde_json::Value;

use crate::{
    pairing::{Unpaired, unpaired},
    payment_uri::is_payment_uri,
    payout_fields::{PAYOUT_FIELDS, refused_payout_fields},
    route::{Direction, MANUAL_RAIL, Method, Route, RouteKey, SIMULATOR_RAIL},
};

/// Characters of one member of `instructions`, enough for a long URL.
const MOST_IN_INSTRUCTION: usize = 2048;
/// The most routes a merchant may have.
const MOST: usize = 500;
const MEMBERS: [&str; 15] = [
    "environment",
    "currency",
    "method",
    "direction",
    "partner",
    "enabled",
    "rail",
    "min_amount",
    "max_amount",
    "fee_bps",
    "fee_fixed",
    "expires_in",
    "required_payout_fields",
    "account_check",
    "instructions",
];

/// Reads `{"routes": […]}` and collects all problems: unknown members, values out of range, unknown rails (by
/// `knows_rail`), two routes with the same key, and routes that could not work.
pub fn parse_routes(body: &Value, knows_rail: impl Fn(&str) -> bool) -> Result<Vec<Route>, Problems> {
    Fields::of_body(body)?;
    let Some(items) = body.get("routes").and_then(Value::as_array) else {
        return Err(Problems::of("routes", "must be an array of routes"));
    };
    if items.len() > MOST {
        return Err(Problems::of("routes", format_args!("must have at most {MOST} items")));
    }
    let mut problems = Problems::new();
    let mut keys = BTreeSet::new();
    let mut routes = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let Some(fields) = Fields::within(format!("routes.{index}"), item) else {
            problems.add(&format!("routes.{index}.value"), "must be an object");
            continue;
        };
        if let Some(route) = parse_route(&fields, &knows_rail, &mut problems) {
            if !keys.insert(route.key()) {
                let what =
                    "repeats that of another route (environment, currency, method, direction, partner)";
                problems.add(&fields.path("key"), what);
            }
            routes.push(route);
        }
    }
    problems.into_result().map(|()| routes)
}

fn parse_route(
    fields: &Fields<'_>,
    knows_rail: impl Fn(&str) -> bool,
    problems: &mut Problems,
) -> Option<Route> {
    fields.refuse_unknown(&MEMBERS, problems);
    let key = parse_key(fields, problems);
    let rail = fields.required_text("rail", 64, problems);
    if rail.is_some_and(|rail| !knows_rail(rail)) {
        problems.add(&fields.path("rail"), "is not a configured rail");
    }
    let mut route = Route::plain(key?, rail?);
    route.enabled = fields.boolean("enabled", problems).unwrap_or(true);
    read_money(fields, &mut route, problems);
    read_rules(fields, &mut route, problems);
    judge_whole(&route, |member, rule| problems.add(&fields.path(member), rule));
    Some(route)
}

/// Refuses the members of a route that could not work.
fn judge_whole(route: &Route, mut refuse: impl FnMut(&str, &dyn Display)) {
    if route.rail == SIMULATOR_RAIL && route.environment == Environment::Live {
        refuse("rail", &"must not be simulator in live");
    }
    let mut asked_for = route.required_payout_fields.iter().map(String::as_str);
    if route.partner {
        if let Some(unfit) = asked_for.find(|name| *name != "recipient_name") {
            let rule = format_args!("must not have {unfit}, which a partner destination may not have");
            refuse("required_payout_fields", &rule);
        }
    } else if let Some(unfit) = asked_for.find(|name| refused_payout_fields(route.method).contains(name)) {
        let rule = format_args!("must not have {unfit}, which method {} refuses", route.method.as_str());
        refuse("required_payout_fields", &rule);
    }
    if !route.admits_any_amount() {
        refuse("fee_fixed", &"must leave an amount from min_amount to max_amount that can bear the fee");
    }
    if route.rail == MANUAL_RAIL && route.direction == Direction::Deposit {
        let needed = needed_instructions(route.method, route.currency);
        for name in needed.iter().filter(|name| !route.instructions.contains_key(**name)) {
            refuse(&format!("instructions.{name}"), &"is required on the manual rail");
        }
    }
}

/// The members of `instructions` without which a payer cannot pay.
pub const fn needed_instructions(method: Method, currency: Currency) -> &'static [&'static str] {
    match (method, currency) {
        (Method::BankTransfer, Currency::AUD) => &["bank_name", "account_holder", "account_number", "bsb"],
        (Method::BankTransfer | Method::Spei, _) => &["bank_name", "account_holder", "account_number"],
        _ => instruction_members(method),
    }
}

fn parse_key(fields: &Fields<'_>, problems: &mut Problems) -> Option<RouteKey> {
    let environment = fields.required_parsed::<Environment>("environment", problems);
    let currency = fields.required_parsed::<Currency>("currency", problems);
    let method = fields.required_parsed::<Method>("method", problems);
    let direction = fields.required_parsed::<Direction>("direction", problems);
    let partner = fields.boolean("partner", problems).unwrap_or(false);
    for found in method.map(|method| unpaired(method, currency, direction, partner)).unwrap_or_default() {
        match found {
            Unpaired::PartnerMethod | Unpaired::PartnerDirection => {
                problems.add(&fields.path("partner"), "is only for withdrawals by bank_transfer");
            }
            Unpaired::DepositOnly => {
                problems.add(&fields.path("direction"), "must be deposit for redirectpay");
            }
            Unpaired::Currency(rule) => problems.add(&fields.path("currency"), rule),
        }
    }
    Some(RouteKey {
        environment: environment?,
        currency: currency?,
        method: method?,
        direction: direction?,
        partner,
    })
}

fn read_money(fields: &Fields<'_>, route: &mut Route, problems: &mut Problems) {
    route.min_amount = fields.amount("min_amount", problems).unwrap_or(route.min_amount);
    route.max_amount = fields.amount("max_amount", problems);
    if route.max_amount.is_some_and(|max| max < route.min_amount) {
        problems.add(&fields.path("max_amount"), "must not be below min_amount");
    }
    if let Some(bps) = fields.integer("fee_bps", problems) {
        match u16::try_from(bps) {
            Ok(bps) if bps <= 10_000 => route.fee_bps = bps,
            _ => problems.add(&fields.path("fee_bps"), "must be from 0 to 10000"),
        }
    }
    if let Some(units) = fields.integer("fee_fixed", problems) {
        match Minor::new(units) {
            Ok(fee) if !fee.is_negative() => route.fee_fixed = fee,
            _ => problems.add(&fields.path("fee_fixed"), "must be from 0 to 2^53 - 1"),
        }
    }
}

/// The members of `instructions` that describe a bank account: the one that a payer pays into, or the one that pays a
/// withdrawal, as a bank file names it.
const ACCOUNT_MEMBERS: [&str; 5] = ["bank_name", "swift_code", "account_holder", "account_number", "bsb"];

/// The members that a route's `instructions` may have: what the payer of a deposit is shown, and for a
/// withdrawal of any method the account that it is paid from as well.
fn known_instructions(route: &Route) -> Vec<&'static str> {
    let mut known = instruction_members(route.method).to_vec();
    if route.direction == Direction::Withdrawal {
        known.extend(
            ACCOUNT_MEMBERS.into_iter().filter(|name| !instruction_members(route.method).contains(name)),
        );
    }
    known
}

/// The members of `instructions` that a payer is shown but the payment itself does not give.
pub const fn instruction_members(method: Method) -> &'static [&'static str] {
    match method {
        Method::BankTransfer | Method::Spei => &ACCOUNT_MEMBERS,
        Method::PayId => &["payid", "payid_type", "payid_name"],
        Method::Cash | Method::CashStore => &["barcode"],
        Method::Crypto => &["asset", "network", "address", "uri"],
        Method::Card | Method::RedirectPay => &["redirect_url"],
    }
}

fn read_rules(fields: &Fields<'_>, route: &mut Route, problems: &mut Problems) {
    if let Some(seconds) = fields.integer("expires_in", problems) {
        // A year: nobody waits longer for a transfer, and sums with any instant stay in range.
        match u32::try_from(seconds) {
            Ok(seconds @ 1..=31_536_000) => route.expires_in = Some(seconds),
            _ => problems.add(&fields.path("expires_in"), "must be from 1 to 31536000 seconds"),
        }
    }
    for name in fields.texts("required_payout_fields", PAYOUT_FIELDS.len(), problems).unwrap_or_default() {
        if PAYOUT_FIELDS.contains(&name) {
            route.required_payout_fields.push(name.to_owned());
        } else {
            let known = PAYOUT_FIELDS.join(", ");
            problems.add(&fields.path("required_payout_fields"), format_args!("must be among {known}"));
        }
    }
    route.account_check = fields.parsed("account_check", problems).unwrap_or(route.account_check);
    if let Some(members) = fields.object("instructions", problems) {
        let known = known_instructions(route);
        members.refuse_unknown(&known, problems);
        for name in known {
            let text = match name {
                "redirect_url" => members.web_url(name, problems),
                _ => members.text(name, MOST_IN_INSTRUCTION, problems),
            };
            let Some(text) = text.and_then(unless_blank) else { continue };
            if name == "uri" && !is_payment_uri(text) {
                problems.add(&members.path(name), "must be the URI of a payment");
            }
            route.instructions.insert(name.to_owned(), text.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(body: &Value) -> Result<Vec<Route>, Vec<String>> {
        parse_routes(body, |rail| rail == "simulator").map_err(Problems::into_messages)
    }

    #[test]
    fn what_is_shown_can_be_sent_back() {
        let routes = Route::of_new_merchant();
        assert_eq!(parse(&json!({ "routes": routes })), Ok(routes));
    }

    #[test]
    fn every_problem_names_its_route_and_field() {
        let good = json!({"environment": "test", "currency": "MXN", "method": "spei", "direction": "deposit", "rail": "simulator"});
        let mut bad = good.clone();
        bad["rail"] = json!("magic");
        bad["fee_bps"] = json!(10_001);
        bad["max_amount"] = json!(0);
        bad["colour"] = json!("red");
        bad["two words"] = json!(1);
        bad["account_check"] = json!("loose");
        let problems = parse(&json!({ "routes": [good, bad, 7] })).expect_err("bad");
        let expected = [
            "routes.1.colour is not a known member",
            "routes.1.two words is not a known member",
            "routes.1.rail is not a configured rail",
            "routes.1.max_amount must be from 1 to 2^53 - 1",
            "routes.1.fee_bps must be from 0 to 10000",
            "routes.1.account_check must be one of format, enforce",
            "routes.1.key repeats that of another route (environment, currency, method, direction, partner)",
            "routes.2.value must be an object",
        ];
        assert_eq!(problems, expected);
    }

    #[test]
    fn instructions_are_those_that_the_method_shows() {
        let parsed = |method: &str, currency: &str, instructions: Value| {
            let route = json!({"environment": "test", "currency": currency, "method": method,
                "direction": "deposit", "rail": "simulator", "instructions": instructions});
            parse(&json!({ "routes": [route] }))
        };
        let account =
            json!({"bank_name": "Bank", "swift_code": null, "account_number": "646180157000000004"});
        let routes = parsed("spei", "MXN", account).expect("good");
        // What is null is left out.
        assert_eq!(routes[0].instructions.len(), 2);
        let problems = parsed("spei", "MXN", json!({"bank_name": 5, "purpose": "x", "payid": "x"}));
        let expected = [
            "routes.0.instructions.payid is not a known member",
            "routes.0.instructions.purpose is not a known member",
            "routes.0.instructions.bank_name must be a string",
        ];
        assert_eq!(problems.expect_err("bad"), expected);
        assert!(
            parsed("payid", "AUD", json!({"payid": "x", "payid_type": "email", "payid_name": "x"})).is_ok()
        );
        assert!(parsed("card", "TRY", json!([])).is_err());
    }

    #[test]
    fn a_withdrawal_by_any_method_names_the_account_it_is_paid_from() {
        let parsed = |direction: &str| {
            let route = json!({"environment": "test", "currency": "AUD", "method": "payid", "direction": direction,
                "rail": "simulator", "instructions": {"account_holder": "H", "account_number": "1", "bsb": "062000"}});
            parse(&json!({ "routes": [route] }))
        };
        assert_eq!(parsed("withdrawal").expect("good")[0].instructions.len(), 3);
        assert_eq!(parsed("deposit").expect_err("a payer by payid is shown no account").len(), 3);
    }

    #[test]
    fn a_route_that_could_not_work_is_refused() {
        let judged = |environment: &str, method: &str, currency: &str, direction: &str, more: Value| {
            let mut route = json!({"environment": environment, "currency": currency, "method": method,
                "direction": direction, "rail": "simulator"});
            let members = more.as_object().expect("an object").clone();
            route.as_object_mut().expect("an object").extend(members);
            parse_routes(&json!({ "routes": [route] }), |_| true).map(drop).map_err(Problems::into_messages)
        };
        let refused = |problems: Result<(), Vec<String>>| problems.expect_err("it could not work").join("; ");
        let none = || json!({});
        assert!(refused(judged("test", "spei", "ARS", "deposit", none())).contains("currency must be MXN"));
        assert!(refused(judged("test", "redirectpay", "LKR", "withdrawal", none())).contains("direction"));
        assert!(refused(judged("test", "bank_transfer", "GEL", "deposit", none())).contains("currency"));
        assert!(
            refused(judged("live", "spei", "MXN", "deposit", none())).contains("rail must not be simulator")
        );
        assert_eq!(judged("live", "spei", "MXN", "withdrawal", json!({"rail": "manual"})), Ok(()));

        let manual = |members: Value| json!({"rail": "manual", "instructions": members});
        let account = json!({"bank_name": "B", "account_holder": "H", "account_number": "1"});
        assert_eq!(judged("live", "bank_transfer", "UYU", "deposit", manual(account.clone())), Ok(()));
        let without_bsb = refused(judged("live", "bank_transfer", "AUD", "deposit", manual(account)));
        assert!(without_bsb.contains("instructions.bsb is required"), "{without_bsb}");
        assert!(refused(judged("test", "card", "TRY", "deposit", manual(none()))).contains("redirect_url"));
        let hostile = manual(json!({"redirect_url": "javascript:alert(1)"}));
        assert!(refused(judged("test", "card", "TRY", "deposit", hostile)).contains("http or https"));
        let wallet = |uri: &str| manual(json!({"asset": "A", "network": "N", "address": "T1", "uri": uri}));
        assert_eq!(judged("test", "crypto", "TRY", "deposit", wallet("tron:T1")), Ok(()));
        assert!(refused(judged("test", "crypto", "TRY", "deposit", wallet("JavaScript:x"))).contains("uri"));

        let partner = |field: &str| json!({"partner": true, "required_payout_fields": [field]});
        assert_eq!(judged("test", "bank_transfer", "GEL", "withdrawal", partner("recipient_name")), Ok(()));
        let unfit = refused(judged("test", "bank_transfer", "GEL", "withdrawal", partner("bsb")));
        assert!(unfit.contains("required_payout_fields must not have bsb"), "{unfit}");

        let dear =
            refused(judged("test", "spei", "MXN", "deposit", json!({"fee_fixed": 500, "max_amount": 400})));
        assert!(dear.contains("fee_fixed must leave an amount"), "{dear}");

        let asking = |fields: &[&str]| json!({"required_payout_fields": fields});
        for (method, currency, refused_field) in [
            ("spei", "MXN", "payid"),
            ("bank_transfer", "ARS", "payid"),
            ("payid", "AUD", "bank_account"),
            ("payid", "AUD", "bank_code"),
            ("payid", "AUD", "bsb"),
        ] {
            let fields = ["recipient_name", refused_field];
            let unfit = refused(judged("test", method, currency, "withdrawal", asking(&fields)));
            let rule = format!("required_payout_fields must not have {refused_field}, which method {method}");
            assert!(unfit.contains(&rule), "{unfit}");
        }
        assert_eq!(judged("test", "payid", "AUD", "withdrawal", asking(&["payid", "account_type"])), Ok(()));
    }

    #[test]
    fn numbers_of_a_route_are_admitted_up_to_their_bounds() {
        let read = |members: Value| {
            let mut route = json!({"environment": "test", "currency": "MXN", "method": "spei",
                "direction": "withdrawal", "rail": "simulator"});
            let members = members.as_object().expect("an object").clone();
            route.as_object_mut().expect("an object").extend(members);
            parse(&json!({ "routes": [route] })).map(|mut routes| routes.remove(0))
        };
        let most = quipu_kernel::MAX_MINOR;
        let widest = read(json!({"min_amount": 1, "max_amount": most, "fee_bps": 10_000, "fee_fixed": 7,
            "expires_in": 31_536_000}));
        let widest = widest.expect("all within their bounds");
        let amounts = (widest.min_amount.get(), widest.max_amount.map(quipu_kernel::Amount::get));
        assert_eq!(amounts, (1, Some(most)));
        assert_eq!((widest.fee_bps, widest.fee_fixed.get()), (10_000, 7));
        assert_eq!(widest.expires_in, Some(31_536_000));
        let narrow =
            read(json!({"min_amount": 5, "max_amount": 5, "fee_bps": 0, "fee_fixed": 0, "expires_in": 1}));
        assert_eq!(narrow.map(|route| route.expires_in), Ok(Some(1)), "a single amount is a range too");
        for (members, problem) in [
            (json!({"min_amount": 5, "max_amount": 4}), "max_amount must not be below min_amount"),
            (json!({"min_amount": 0}), "min_amount must be from 1 to 2^53 - 1"),
            (json!({"min_amount": most + 1}), "min_amount must be from 1 to 2^53 - 1"),
            (json!({"max_amount": most + 1}), "max_amount must be from 1 to 2^53 - 1"),
            (json!({"fee_bps": -1}), "fee_bps must be from 0 to 10000"),
            (json!({"fee_bps": 10_001}), "fee_bps must be from 0 to 10000"),
            (json!({"fee_fixed": -1}), "fee_fixed must be from 0 to 2^53 - 1"),
            (json!({"fee_fixed": most + 1}), "fee_fixed must be from 0 to 2^53 - 1"),
            (json!({"expires_in": 0}), "expires_in must be from 1 to 31536000 seconds"),
            (json!({"expires_in": 31_536_001}), "expires_in must be from 1 to 31536000 seconds"),
        ] {
            let told = read(members.clone()).map(|_| ());
            assert_eq!(told, Err(vec![format!("routes.0.{problem}")]), "{members}");
        }
    }

    #[test]
    fn a_list_has_500_routes_at_most() {
        let told =
            |count| parse(&json!({ "routes": vec![json!(7); count] })).expect_err("numbers are no routes");
        assert_eq!(told(500)[0], "routes.0.value must be an object");
        assert_eq!(told(501), ["routes must have at most 500 items"]);
    }

    #[test]
    fn a_body_without_a_list_is_one_problem() {
        for body in [json!([]), json!({}), json!({ "routes": {} })] {
            assert_eq!(parse(&body).expect_err("bad").len(), 1);
        }
    }
}
