//! The use cases: what merchants do with tickets and files, and what happens without a request.

use std::sync::atomic::Ordering;

use quipu_commit::{Queue, WorkInHand};
use quipu_kernel::{Environment, MerchantId, PaymentId, PaymentIdSource, Tenant};
use quipu_merchants::Actor;
use serde_json::json;

use super::{
    bed::{Bed, locked, naming, now},
    world::{Counting, TENANT, at},
};
use crate::{
    Arrival, Attachment, ContentType, FileRefused, MoveDraft, State, Status, Ticket, TicketChange,
    TicketDraft, TicketError, Upload, UploadError, changes,
};

const WEEK: i64 = 7 * 24 * 3600;
const DAY: i64 = 24 * 3600;
const UNUSABLE: &str = "must name an upload of this ticket that no comment has used";

fn support() -> Actor {
    Actor { id: "op_1".to_owned(), name: "Sam".to_owned() }
}

fn payment(number: u8) -> PaymentId {
    PaymentIdSource::default().next(at(0), &Counting::from(number))
}

/// The problems of a refused request.
fn problems<T: std::fmt::Debug>(outcome: Result<T, TicketError>) -> Vec<String> {
    match outcome.expect_err("refused") {
        TicketError::Invalid(problems) => problems.into_messages(),
        other => panic!("{other}"),
    }
}

/// Does all work of a queue that is due.
fn attend(bed: &Bed, queue: Queue) {
    for claimed in bed.claimed(queue) {
        now(bed.office.attend(&claimed)).expect("done");
    }
}

fn resolve(bed: &Bed, ticket: &Ticket) {
    for status in [Status::InProgress, Status::Resolved] {
        let summary = (status == Status::Resolved).then(|| "sent again".to_owned());
        let draft = MoveDraft { status, resolution_summary: summary };
        now(bed.office.set_status(ticket.id(), &draft, &support())).expect("moved");
    }
}

#[test]
fn a_ticket_is_about_a_payment_of_its_merchant_that_no_other_ticket_is_about() {
    let bed = Bed::new();
    let open = |number| {
        let body = json!({"title": "Where is it?", "category": "other", "payment_id": payment(number)});
        now(bed.office.open(TENANT, TicketDraft::parse(&body).expect("valid")))
    };
    let unknown = problems(open(1));
    assert!(unknown.iter().all(|problem| problem.starts_with("payment_id ")), "{unknown:?}");
    locked(&bed.rows.payments).extend([payment(1), payment(2)]);
    open(1).expect("opened");
    assert!(matches!(open(1), Err(TicketError::ExistsForPayment)));
    open(2).expect("another payment");
}

#[test]
fn tickets_are_counted_by_their_present_status() {
    let bed = Bed::new();
    let (first, second) = (bed.opened(), bed.opened());
    assert_eq!([bed.count("open"), bed.count("closed")], [2, 0]);
    now(bed.office.close(TENANT, first.id(), None)).expect("closed");
    assert_eq!([bed.count("open"), bed.count("closed")], [1, 1]);
    now(bed.office.comment(TENANT, second.id(), &naming(&[]))).expect("said");
    assert_eq!([bed.count("open"), bed.count("closed")], [1, 1], "a comment moves nothing");
}

#[test]
fn files_become_attachments_in_their_order_and_are_used_once() {
    let bed = Bed::new();
    let ticket = bed.opened();
    let (picture, paper) = (bed.announced(&ticket, "image/png"), bed.announced(&ticket, "application/pdf"));
    let comment = now(bed.office.comment(TENANT, ticket.id(), &naming(&[&picture, &paper]))).expect("said");
    let ids: Vec<_> = comment.attachments.iter().map(|one| one.id.clone()).collect();
    assert_eq!(ids, [picture.id.clone(), paper.id.clone()]);
    assert_eq!(bed.ticket(ticket.id()).state().attachments, comment.attachments);
    assert!(bed.upload(&picture.id).spent && bed.upload(&paper.id).spent);
    assert_eq!(bed.due(Queue::THUMBNAILS, picture.id.as_str()), Some(at(0)));
    assert_eq!(bed.due(Queue::THUMBNAILS, paper.id.as_str()), None, "a thumbnail is made of pictures only");
    let fresh = bed.announced(&ticket, "image/png");
    let again = problems(now(bed.office.comment(TENANT, ticket.id(), &naming(&[&fresh, &picture]))));
    assert_eq!(again, [format!("attachments.1 {UNUSABLE}")]);
    assert_eq!(bed.ticket(ticket.id()).state().attachments.len(), 2, "nothing was said");
    let kept = bed.files.shelf().swept.clone();
    assert_eq!(kept, [(picture.id.clone(), Some(format!("{}/1", picture.id)))], "what came late is deleted");
    assert_eq!(bed.files.shelf().objects.len(), 2, "and so is what the refused comment made");
    let elsewhere = now(bed.office.attachment(TENANT, bed.opened().id(), &picture.id)).expect("read");
    assert_eq!(elsewhere, None, "the attachment of another ticket");
}

#[test]
fn each_trouble_of_a_file_is_told_by_its_place() {
    for (trouble, message) in [
        (FileRefused::NotArrived, "has not been uploaded"),
        (FileRefused::TooLarge, "is larger than 10485760 bytes, and was deleted"),
        (FileRefused::WrongType, "is not of its declared type, and was deleted"),
    ] {
        let bed = Bed::new();
        let ticket = bed.opened();
        let uploads = [bed.announced(&ticket, "image/png"), bed.announced(&ticket, "image/gif")];
        bed.files.shelf().troubles.insert(uploads[1].id.clone(), trouble);
        let refused =
            problems(now(bed.office.comment(TENANT, ticket.id(), &naming(&[&uploads[0], &uploads[1]]))));
        assert_eq!(refused, [format!("attachments.1 {message}")]);
        assert!(bed.files.shelf().objects.is_empty(), "the other file's object is deleted");
        let alone = now(bed.office.comment(TENANT, ticket.id(), &naming(&[&uploads[0]])));
        assert_eq!(alone.expect("said").attachments.len(), 1, "the other file can still be used");
    }
    let bed = Bed::new();
    let ticket = bed.opened();
    let upload = bed.announced(&ticket, "image/png");
    let failed = FileRefused::Failed("no disk".to_owned());
    bed.files.shelf().troubles.insert(upload.id.clone(), failed);
    let outcome = now(bed.office.comment(TENANT, ticket.id(), &naming(&[&upload])));
    assert!(matches!(outcome, Err(TicketError::Files(cause)) if cause == "no disk"));
    let other = bed.announced(&ticket, "image/png");
    bed.files.shelf().troubles.insert(other.id.clone(), FileRefused::WrongType);
    let both = now(bed.office.comment(TENANT, ticket.id(), &naming(&[&upload, &other])));
    let told = ["attachments.1 is not of its declared type, and was deleted"];
    assert_eq!(problems(both), told, "or nobody would learn why it is gone");
}

#[test]
fn no_deletion_begins_after_five_seconds_whatever_it_deletes() {
    let bed = Bed::new();
    let ticket = bed.opened();
    let uploads: Vec<_> = (0..4).map(|_| bed.announced(&ticket, "image/png")).collect();
    now(bed.office.comment(TENANT, ticket.id(), &naming(&[&uploads[0]]))).expect("said");
    bed.files.shelf().takes = 3;
    problems(now(bed.office.comment(TENANT, ticket.id(), &naming(&uploads.iter().collect::<Vec<_>>()))));
    let held = bed.files.shelf();
    assert_eq!(held.swept.len(), 1, "what came late");
    assert_eq!(held.objects.len(), 3, "one of three was deleted, and the comment's stays");
}

#[test]
fn a_ticket_has_at_most_two_hundred_files() {
    let bed = Bed::new();
    let opened = bed.opened();
    let attachment = |upload: Upload| Attachment {
        id: upload.id,
        name: "a".to_owned(),
        content_type: ContentType::Pdf,
        size: 1,
    };
    let attachments: Vec<_> =
        (0..199).map(|_| attachment(bed.announced(&opened, "application/pdf"))).collect();
    let state = State { attachments, version: 2, ..opened.state().clone() };
    let full = Ticket::restore(opened.terms().clone(), state);
    let change = TicketChange {
        before: Some(opened.clone()),
        ticket: full,
        comment: None,
        attached: Vec::new(),
        uploads: Vec::new(),
        events: Vec::new(),
    };
    let periods = bed.office.periods();
    let changes = changes::of_ticket(change, at(0), periods.close_after);
    bed.rows.memory.contents().apply(changes).expect("committed");
    let uploads = [bed.announced(&opened, "application/pdf"), bed.announced(&opened, "application/pdf")];
    let refused = now(bed.office.comment(TENANT, opened.id(), &naming(&[&uploads[0], &uploads[1]])));
    assert!(matches!(refused, Err(TicketError::TooManyFiles(200))));
    assert!(bed.files.shelf().objects.is_empty(), "what was made for it is deleted");
    now(bed.office.comment(TENANT, opened.id(), &naming(&[&uploads[0]]))).expect("the two hundredth");
}

#[test]
fn a_file_that_another_comment_takes_meanwhile_is_not_used_twice() {
    let bed = Bed::new();
    let ticket = bed.opened();
    let upload = bed.announced(&ticket, "image/png");
    let taken = upload.clone().used_up(Some(Arrival { object: "theirs".to_owned(), size: 5 }));
    locked(&bed.rows.intruders).push(changes::of_upload(taken, at(0)));
    let refused = problems(now(bed.office.comment(TENANT, ticket.id(), &naming(&[&upload]))));
    assert_eq!(refused, [format!("attachments.0 {UNUSABLE}")]);
    assert!(bed.files.shelf().objects.is_empty());
    assert!(bed.ticket(ticket.id()).state().attachments.is_empty());
}

#[test]
fn a_decision_is_made_again_while_the_ticket_changes_and_not_for_ever() {
    let bed = Bed::new();
    let ticket = bed.opened();
    bed.rows.stale.store(99, Ordering::Relaxed);
    now(bed.office.comment(TENANT, ticket.id(), &naming(&[]))).expect("said at last");
    bed.rows.stale.store(100, Ordering::Relaxed);
    let overtaken = now(bed.office.comment(TENANT, ticket.id(), &naming(&[])));
    assert!(matches!(overtaken, Err(TicketError::Overtaken)));
    bed.rows.stale.store(99, Ordering::Relaxed);
    now(bed.office.close(TENANT, ticket.id(), None)).expect("closed at last");
    bed.rows.stale.store(100, Ordering::Relaxed);
    assert!(matches!(now(bed.office.reopen(TENANT, ticket.id(), None)), Err(TicketError::Overtaken)));
}

#[test]
fn a_closed_ticket_takes_no_comment_and_no_file() {
    let bed = Bed::new();
    let ticket = bed.opened();
    let upload = bed.announced(&ticket, "image/png");
    now(bed.office.close(TENANT, ticket.id(), None)).expect("closed");
    let said = now(bed.office.comment(TENANT, ticket.id(), &naming(&[&upload])));
    assert!(matches!(said, Err(TicketError::NoSuchStep(_))));
    assert!(bed.files.shelf().objects.is_empty(), "its file was not looked at");
    let draft = crate::UploadDraft::parse(&json!({"filename": "a", "content_type": "image/png"}));
    let announced = now(bed.office.announce(TENANT, ticket.id(), draft.expect("valid")));
    assert!(matches!(announced, Err(TicketError::NoSuchStep(_))));
}

#[test]
fn a_resolved_ticket_closes_after_a_week_of_silence() {
    let bed = Bed::new();
    let ticket = bed.opened();
    resolve(&bed, &ticket);
    let due = || bed.due(Queue::TICKET_CLOSING, ticket.id().as_str());
    assert_eq!(due(), Some(at(WEEK)));
    now(bed.office.reopen(TENANT, ticket.id(), None)).expect("reopened");
    assert_eq!(due(), None, "a ticket that is open again does not close");
    bed.at(DAY);
    resolve(&bed, &ticket);
    assert_eq!(due(), Some(at(WEEK + DAY)));
    bed.at(WEEK + DAY - 1);
    let early = WorkInHand { due: at(0), ..claim_at(&bed, Queue::TICKET_CLOSING, WEEK + DAY) };
    now(bed.office.attend(&early)).expect("looked at");
    assert_eq!(bed.ticket(ticket.id()).status(), Status::Resolved, "not a second too early");
    assert_eq!(due(), Some(at(WEEK + DAY)));
    bed.at(WEEK + DAY);
    attend(&bed, Queue::TICKET_CLOSING);
    assert_eq!(bed.ticket(ticket.id()).status(), Status::Closed);
    assert_eq!(due(), None);
}

/// The one piece of work of a queue, claimed by a node whose clock is ahead.
fn claim_at(bed: &Bed, queue: Queue, seconds: i64) -> WorkInHand {
    let lease = std::time::Duration::from_mins(1);
    bed.rows.memory.contents().claim(queue, at(seconds), lease, 1).remove(0)
}

#[test]
fn an_upload_that_no_comment_used_is_deleted_and_cannot_be_used_any_more() {
    let bed = Bed::new();
    let ticket = bed.opened();
    let unused = bed.announced(&ticket, "image/png");
    let used = bed.announced(&ticket, "image/png");
    now(bed.office.comment(TENANT, ticket.id(), &naming(&[&used]))).expect("said");
    let early = claim_at(&bed, Queue::UPLOADS, WEEK);
    now(bed.office.attend(&early)).expect("looked at");
    assert!(bed.files.shelf().swept.is_empty(), "not before its address has ended");
    bed.at(WEEK);
    bed.rows.memory.contents().release_all();
    attend(&bed, Queue::UPLOADS);
    let object = format!("{}/1", used.id);
    let mut swept = bed.files.shelf().swept.clone();
    swept.sort();
    let mut expected = [(unused.id.clone(), None), (used.id.clone(), Some(object))];
    expected.sort();
    assert_eq!(swept, expected);
    assert_eq!(bed.files.shelf().objects.len(), 1, "what the comment uses stays");
    assert!(bed.upload(&unused.id).spent);
    let late = problems(now(bed.office.comment(TENANT, ticket.id(), &naming(&[&unused]))));
    assert_eq!(late, [format!("attachments.0 {UNUSABLE}")]);
    assert_eq!([&unused, &used].map(|upload| bed.due(Queue::UPLOADS, upload.id.as_str())), [None, None]);
}

#[test]
fn the_clean_up_waits_if_a_comment_takes_the_upload_at_that_moment() {
    let bed = Bed::new();
    let ticket = bed.opened();
    let upload = bed.announced(&ticket, "image/png");
    bed.at(WEEK);
    let taken = upload.clone().used_up(None);
    locked(&bed.rows.intruders).push(changes::of_upload(taken, at(WEEK)));
    attend(&bed, Queue::UPLOADS);
    assert!(bed.files.shelf().swept.is_empty());
    assert!(bed.due(Queue::UPLOADS, upload.id.as_str()).is_some(), "it is looked at again");
}

#[test]
fn a_thumbnail_is_made_beside_its_picture_and_given_up_after_five_attempts() {
    let bed = Bed::new();
    let ticket = bed.opened();
    let said = || {
        let picture = bed.announced(&ticket, "image/png");
        now(bed.office.comment(TENANT, ticket.id(), &naming(&[&picture]))).expect("said");
        picture.id
    };
    let stored = |id| now(bed.office.attachment(TENANT, ticket.id(), id)).expect("read").expect("there");
    let made = said();
    attend(&bed, Queue::THUMBNAILS);
    let attachment = stored(&made);
    let thumbnail = attachment.thumbnail.expect("made");
    assert_eq!(thumbnail.object, format!("{}.small", attachment.object));
    assert_eq!(bed.due(Queue::THUMBNAILS, made.as_str()), None);

    *locked(&bed.thumbnails.fails) = true;
    let hopeless = said();
    let claimed = bed.claimed(Queue::THUMBNAILS).remove(0);
    for attempts in 1..5 {
        let claimed = WorkInHand { attempts, ..claimed.clone() };
        assert!(matches!(now(bed.office.attend(&claimed)), Err(TicketError::Thumbnail(_))));
    }
    now(bed.office.attend(&WorkInHand { attempts: 5, ..claimed })).expect("given up");
    assert_eq!(stored(&hopeless).thumbnail, None);
    assert_eq!(bed.due(Queue::THUMBNAILS, hopeless.as_str()), None);

    *locked(&bed.thumbnails.fails) = false;
    let lost = said();
    bed.files.shelf().objects.clear();
    let claimed = bed.claimed(Queue::THUMBNAILS).remove(0);
    let early = WorkInHand { attempts: 4, ..claimed.clone() };
    assert!(matches!(now(bed.office.attend(&early)), Err(TicketError::Files(_))), "a bucket may learn of it");
    now(bed.office.attend(&WorkInHand { attempts: 5, ..claimed })).expect("given up");
    assert_eq!(bed.due(Queue::THUMBNAILS, lost.as_str()), None, "there is nothing to make one of");
}

#[test]
fn a_thumbnail_whose_picture_is_slow_to_read_has_the_rest_of_the_time_and_a_hundred_attempts() {
    let bed = Bed::new();
    let ticket = bed.opened();
    let picture = bed.announced(&ticket, "image/png");
    now(bed.office.comment(TENANT, ticket.id(), &naming(&[&picture]))).expect("said");
    let claimed = bed.claimed(Queue::THUMBNAILS).remove(0);
    bed.files.shelf().takes = 15;
    *locked(&bed.thumbnails.fails) = true;
    assert!(matches!(now(bed.office.attend(&claimed)), Err(TicketError::Thumbnail(_))));
    assert_eq!(locked(&bed.thumbnails.patience).as_secs(), 5);

    bed.files.shelf().takes = 20;
    let last = WorkInHand { attempts: 100, ..claimed.clone() };
    assert!(matches!(now(bed.office.attend(&last)), Err(TicketError::Files(_))), "not the picture's fault");
    bed.files.shelf().troubles.insert(picture.id.clone(), FileRefused::Failed("it is away".to_owned()));
    assert!(matches!(now(bed.office.attend(&last)), Err(TicketError::Files(_))));
    now(bed.office.attend(&WorkInHand { attempts: 101, ..claimed })).expect("given up");
    assert_eq!(bed.due(Queue::THUMBNAILS, picture.id.as_str()), None);
}

#[test]
fn an_upload_url_takes_one_file() {
    let bed = Bed::new();
    let ticket = bed.opened();
    let upload = bed.announced(&ticket, "image/png");
    let receive = |id| now(bed.office.receive(TENANT, id)).map(|(upload, _)| upload);
    assert_eq!(receive(&upload.id).expect("it may be sent"), upload);
    let of_another = Tenant::new(MerchantId(8), Environment::Test);
    assert!(matches!(now(bed.office.receive(of_another, &upload.id)), Err(UploadError::NotFound)));
    let arrive = |object: &str| {
        bed.files.shelf().objects.insert(object.to_owned());
        let arrival = Arrival { object: object.to_owned(), size: 5 };
        now(bed.office.arrived(upload.clone(), arrival, at(1)))
    };
    arrive("first").expect("it counts");
    assert!(matches!(arrive("second"), Err(UploadError::Used)));
    assert_eq!(bed.files.shelf().objects.iter().collect::<Vec<_>>(), ["first"], "the second is deleted");
    assert!(matches!(receive(&upload.id), Err(UploadError::Used)));

    let spent = bed.announced(&ticket, "image/png");
    now(bed.office.comment(TENANT, ticket.id(), &naming(&[&spent]))).expect("said");
    assert!(matches!(receive(&spent.id), Err(UploadError::Used)));
    let elsewhere = bed.announced(&ticket, "image/png");
    bed.files.shelf().troubles.insert(elsewhere.id.clone(), FileRefused::NotArrived);
    assert!(matches!(receive(&elsewhere.id), Err(UploadError::NotFound)), "it is sent elsewhere");
}
