//! The enumerations of the documents are those of the program.

use std::collections::BTreeSet;

use quipu_kernel::{Currency, Environment};
use quipu_ledger::Book;
use quipu_merchants::{
    AccountCheck, ApiVersion, BeneficiaryKind, Direction, MerchantStatus, Method, PAYOUT_FIELDS, Role, Scope,
};
use quipu_pages::Language;
use quipu_payments::{
    ParkReason, PayIdType, PaymentType, RailEventKind, RailEventOutcome, ReceiptStatus, RedirectScheme,
    SchemeDecision, TrafficType,
};
use quipu_tickets::{Author, Category, ContentType, Priority, SortKey, SortOrder};
use quipu_webhooks::{DeliveryStatus, EventName, Source};
use serde_json::Value;

use super::{Readers, document};
use crate::{answer::ErrorCode, v1::balance::BalanceType};

type Names = BTreeSet<String>;

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
    names.into_iter().map(ToOwned::to_owned).collect()
}

/// The names of each type that the documents list.
fn known() -> Vec<Names> {
    let parked = RailEventOutcome::Parked(ParkReason::Contradiction);
    let mut known = vec![
        names(Environment::NAMES),
        names(Book::NAMES),
        names(AccountCheck::NAMES),
        names(ApiVersion::NAMES),
        names(BeneficiaryKind::NAMES),
        names(Direction::NAMES),
        names(MerchantStatus::NAMES),
        names(Method::NAMES),
        names(PAYOUT_FIELDS),
        names(Role::NAMES),
        // With the names that are read and never written.
        names(Scope::NAMES.into_iter().chain(["payments.view", "webhooks.view", "balance.view"])),
        names(Language::ALL.map(Language::code)),
        names(ParkReason::NAMES),
        names(PayIdType::NAMES),
        names(PaymentType::NAMES),
        names(RailEventKind::NAMES),
        names([RailEventOutcome::Applied, RailEventOutcome::Known, parked].map(RailEventOutcome::as_str)),
        names(ReceiptStatus::NAMES),
        names(quipu_payments::Resolution::NAMES),
        names(RedirectScheme::NAMES),
        names(SchemeDecision::NAMES),
        names(quipu_payments::Status::NAMES),
        names(TrafficType::NAMES),
        names([Author::Merchant.kind(), "admin"]),
        names(Category::NAMES),
        names(ContentType::NAMES),
        names(Priority::NAMES),
        names(SortKey::NAMES),
        names(SortOrder::NAMES),
        names(quipu_tickets::Status::NAMES),
        names(DeliveryStatus::NAMES),
        names(EventName::NAMES),
        names(Source::NAMES),
        names(BalanceType::NAMES),
        names(ErrorCode::ALL.iter().map(|code| code.as_str())),
        names(Currency::IN_BALANCE_QUERIES.iter().map(Currency::as_str)),
        // What is about the answer itself.
        names(["Unauthorized", "Forbidden"]),
        names(["ready", "not_ready"]),
    ];
    for prefix in ["payment.", "payout.", "ticket."] {
        known.push(names(EventName::NAMES.into_iter().filter(|name| name.starts_with(prefix))));
    }
    known
}

/// All enumerations of several texts, with where they are.
fn enumerations(value: &Value, place: &str, found: &mut Vec<(String, Names)>) {
    let members: Vec<_> = match value {
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), member)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        _ => return,
    };
    if let Some(listed) = value.get("enum").and_then(Value::as_array) {
        // An empty text stands for no value.
        let listed = names(listed.iter().filter_map(Value::as_str).filter(|text| !text.is_empty()));
        if listed.len() > 1 {
            found.push((place.to_owned(), listed));
        }
    }
    for (name, member) in members {
        enumerations(member, &format!("{place}/{name}"), found);
    }
}

#[test]
fn every_enumeration_has_all_names_of_its_type() {
    let known = known();
    let mut found = Vec::new();
    for readers in [Readers::Merchants, Readers::Operators] {
        enumerations(&document(readers, ""), "", &mut found);
    }
    assert!(found.len() > 80, "only {} enumerations", found.len());
    for (place, listed) in found {
        assert!(known.contains(&listed), "{place} lists {listed:?}, which are not the names of any type");
    }
}
