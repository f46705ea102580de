//! The examples of the documents, judged by the documents' own schemas.

use serde_json::Value;

use super::document::{Document, Documents};

/// Where an example stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Request,
    Answer,
}

/// What is wrong with the examples of both documents. Each request body and each answer in JSON needs one that fits its
/// schema, and so do forms. Only successes of the operator's interface may be without.
pub fn faults_of_examples() -> Vec<String> {
    let [merchants, staff] = Documents::get().each() else { panic!("two documents") };
    let mut faults = faults_of(merchants, true);
    faults.extend(faults_of(staff, false));
    faults
}

fn faults_of(document: &Document, answers_need_one: bool) -> Vec<String> {
    let (mut faults, mut judged) = (Vec::new(), 0);
    for (place, about, content) in contents(document) {
        for (kind, media) in content.as_object().into_iter().flatten() {
            let is_read_by_programs =
                ["application/json", "application/x-www-form-urlencoded"].contains(&kind.as_str());
            let is_success = about.contains(" -> 2");
            match media.get("example") {
                Some(example) => {
                    judged += 1;
                    let verdict = match place {
                        Place::Request => document.judge_request(&media["schema"], example),
                        Place::Answer if media["schema"]["type"] == "object" => Ok(()),
                        Place::Answer => document.judge_answer(&media["schema"], example),
                    };
                    faults.extend(verdict.err().map(|reason| format!("{about}: {reason}")));
                    let told = example["statusCode"].as_u64().filter(|_| place == Place::Answer);
                    if let Some(told) = told.filter(|told| !about.ends_with(&format!(" -> {told}"))) {
                        faults.push(format!("{about} shows an answer of status {told}"));
                    }
                }
                None if is_read_by_programs && (answers_need_one || !is_success) => {
                    faults.push(format!("{about} has no example in {kind}"));
                }
                None => {}
            }
        }
    }
    assert!(judged > 20, "only {judged} examples");
    faults
}

/// Every body: of requests, of answers, and of messages to merchants.
fn contents(document: &Document) -> Vec<(Place, String, Value)> {
    let mut found = Vec::new();
    for (about, operation) in document.operations() {
        let mut parts = vec![(about.clone(), operation.clone())];
        for (_, address) in operation["callbacks"]["event"].as_object().into_iter().flatten() {
            parts.push((format!("the event of {about}"), address["post"].clone()));
        }
        for (about, operation) in parts {
            let body = document.resolved(&operation["requestBody"]);
            found.push((Place::Request, about.clone(), body["content"].clone()));
            for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
                let content = document.resolved(answer)["content"].clone();
                found.push((Place::Answer, format!("{about} -> {status}"), content));
            }
        }
    }
    found
}
