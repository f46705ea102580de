//! What is said and shown on a ticket: comments and files, which merchants see, and notes, which they do not.

use std::sync::Arc;

use quipu_commit::{Changes, Commit as _};
use quipu_kernel::{Environment, MerchantId, Page, Period, Tenant};
use quipu_store::Store;
use quipu_tickets::{
    AttachmentId, Comment, ContentType, Entry, SupportReads as _, Thumbnail, ThumbnailMade, Ticket,
    TicketReads as _,
};
use serde_json::json;

use crate::{
    desk::TestDesk,
    directory::opened,
    fixture::{Fixture, on_both_databases},
    sample::{Random, START, after, tenant},
};

on_both_databases! {
    support_reads_everything_in_order_and_merchants_only_comments,
    a_file_is_known_to_its_tenant_before_and_after_a_comment_uses_it,
    a_thumbnail_is_found_at_its_attachment,
}

const OTHERS: [Tenant; 2] =
    [Tenant::new(MerchantId(1), Environment::Live), Tenant::new(MerchantId(2), Environment::Test)];

async fn begun(fixture: &Fixture) -> (Arc<Store>, TestDesk, Ticket) {
    opened(fixture).await;
    let store = Arc::new(fixture.open().await);
    let desk = TestDesk::at(&store);
    let ticket = desk.open(tenant(1), &json!({ "title": "Where is it?" })).await;
    (store, desk, ticket)
}

async fn support_reads_everything_in_order_and_merchants_only_comments(fixture: Fixture) {
    let (store, desk, ticket) = begun(&fixture).await;
    let bystander = desk.open(tenant(1), &json!({ "title": "Another" })).await;
    let mut said = Vec::new();
    for number in 0..30 {
        desk.wait_until(number * 10);
        let text = format!("number {number}");
        said.push(match number % 3 {
            0 => Entry::Comment(desk.comment(tenant(1), ticket.id(), &text, &[]).await),
            internal => desk.say(ticket.id(), &text, internal == 1).await,
        });
        desk.say(bystander.id(), "elsewhere", number % 2 == 0).await;
    }
    let written = |entry: &Entry| match entry {
        Entry::Comment(comment) => comment.created_at,
        Entry::Note(note) => note.created_at,
    };
    let public: Vec<Comment> = said
        .iter()
        .filter_map(|entry| match entry {
            Entry::Comment(comment) => Some(comment.clone()),
            Entry::Note(_) => None,
        })
        .collect();

    for offset in [0, 7, 19, 20, 100] {
        let page = Page::new(7, offset).expect("a page");
        let expected: Vec<_> = public.iter().skip(usize::try_from(offset).expect("small")).take(7).collect();
        let (found, total) = store.comments(tenant(1), ticket.id(), page).await.expect("read");
        assert_eq!((found.iter().collect(), total), (expected, 20), "from {offset} on");
    }
    let ever = Period::default();
    for written_in in [ever, Period { from: Some(after(40)), to: Some(after(200)) }] {
        let all: Vec<_> = said.iter().filter(|entry| written_in.contains(written(entry))).collect();
        for offset in [0, 8, 28, 100] {
            let page = Page::new(8, offset).expect("a page");
            let expected: Vec<_> =
                all.iter().skip(usize::try_from(offset).expect("small")).take(8).copied().collect();
            let read = store.conversation(tenant(1), ticket.id(), written_in, page).await;
            let (found, total) = read.expect("read");
            assert_eq!((found.iter().collect(), total), (expected, all.len() as u64), "from {offset} on");
        }
    }

    for entry in &said {
        let is_public = matches!(entry, Entry::Comment(_));
        assert_eq!(store.has_comment(tenant(1), ticket.id(), entry.id()).await.expect("read"), is_public);
        assert!(!store.has_comment(tenant(1), bystander.id(), entry.id()).await.expect("read"));
        assert!(!store.has_comment(OTHERS[0], ticket.id(), entry.id()).await.expect("read"));
    }
    for other in OTHERS {
        let nothing = store.comments(other, ticket.id(), Page::default()).await.expect("read");
        assert_eq!(nothing, (Vec::new(), 0));
        let nothing = store.conversation(other, ticket.id(), ever, Page::default()).await.expect("read");
        assert_eq!(nothing, (Vec::new(), 0));
    }
}

async fn a_file_is_known_to_its_tenant_before_and_after_a_comment_uses_it(fixture: Fixture) {
    let (store, desk, ticket) = begun(&fixture).await;
    let announced = [
        desk.announce(tenant(1), ticket.id(), "a.png").await,
        desk.announce(tenant(1), ticket.id(), "b.png").await,
    ];
    for upload in &announced {
        assert_eq!(store.upload(tenant(1), &upload.id).await.expect("read").as_ref(), Some(upload));
        assert_eq!(store.attachment(tenant(1), &upload.id).await.expect("read"), None);
    }

    desk.wait_until(10);
    let comment = desk.comment(tenant(1), ticket.id(), "See these", &announced).await;
    for (place, upload) in (0..).zip(&announced) {
        let used = store.upload(tenant(1), &upload.id).await.expect("read").expect("it is kept");
        assert!(used.spent && used.revision == upload.revision + 1, "{used:?}");
        let stored = store.attachment(tenant(1), &upload.id).await.expect("read").expect("an attachment");
        assert_eq!((stored.tenant, &stored.ticket), (tenant(1), ticket.id()));
        assert_eq!((stored.comment, stored.place, stored.thumbnail), (comment.id, place, None));
        assert_eq!(stored.object, format!("object of {}", upload.id));
        assert_eq!(Some(&stored.shown), comment.attachments.get(usize::try_from(place).expect("small")));
        for other in OTHERS {
            assert_eq!(store.upload(other, &upload.id).await.expect("read"), None);
            assert_eq!(store.attachment(other, &upload.id).await.expect("read"), None);
        }
    }
    let (comments, _) = store.comments(tenant(1), ticket.id(), Page::default()).await.expect("read");
    assert_eq!(comments[0].attachments, comment.attachments, "in the order in which they were named");
    let ticket = store.ticket(tenant(1), ticket.id()).await.expect("read").expect("the ticket");
    assert_eq!(ticket.state().attachments, comment.attachments);
    let stranger = AttachmentId::new(START, &Random);
    assert_eq!(store.upload(tenant(1), &stranger).await.expect("read"), None);
}

async fn a_thumbnail_is_found_at_its_attachment(fixture: Fixture) {
    let (store, desk, ticket) = begun(&fixture).await;
    let upload = desk.announce(tenant(1), ticket.id(), "a.png").await;
    desk.comment(tenant(1), ticket.id(), "See this", std::slice::from_ref(&upload)).await;
    let thumbnail = Thumbnail { object: "small".to_owned(), content_type: ContentType::Jpeg };
    let mut changes = Changes::new(tenant(1), after(20));
    changes.add(ThumbnailMade { attachment: upload.id.clone(), thumbnail: thumbnail.clone() });
    store.commit(changes).await.expect("committed");
    let stored = store.attachment(tenant(1), &upload.id).await.expect("read").expect("an attachment");
    assert_eq!(stored.thumbnail, Some(thumbnail));
}
