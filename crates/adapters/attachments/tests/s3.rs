//! Files in a bucket of the S3 server that `QUIPU_TEST_S3` names.

mod samples;

use std::{sync::Arc, time::Duration};

use quipu_attachments::{S3Files, S3Settings};
use quipu_kernel::{Clock, Secret, SystemClock};
use quipu_tickets::{Arrival, ContentType, FileRefused, FileStore, MAX_FILE_BYTES, Upload};
use reqwest::{Client, StatusCode};
use samples::{PNG, bytes, entropy, unique, upload};
use tokio::time::Instant;

/// `http://<key>:<secret>@<host>:<port>/<bucket>`
fn settings() -> S3Settings {
    let text = std::env::var("QUIPU_TEST_S3").expect(
        "QUIPU_TEST_S3 must hold the address of an S3 server; `make test` installs, starts and names one",
    );
    let rest = text.strip_prefix("http://").expect("an http URL");
    let (credentials, place) = rest.split_once('@').expect("credentials");
    let (id, secret) = credentials.split_once(':').expect("a key and its secret");
    let (host, bucket) = place.split_once('/').expect("a bucket");
    S3Settings {
        bucket: bucket.to_owned(),
        prefix: format!("tests/{}", unique()),
        endpoint: Some(format!("http://{host}")),
        region: "us-east-1".to_owned(),
        credentials: Some((id.to_owned(), Secret::new(secret))),
    }
}

fn store() -> Arc<dyn FileStore> {
    Arc::new(S3Files::connect(&settings(), entropy()).expect("settings that fit"))
}

async fn url(store: &dyn FileStore, upload: &Upload) -> String {
    store.upload_url(upload, SystemClock.now()).await.expect("signed").expect("a URL of the bucket's")
}

async fn complete(store: &dyn FileStore, upload: &Upload) -> Result<Arrival, FileRefused> {
    store.complete(std::slice::from_ref(upload)).await.pop().expect("an answer for each")
}

async fn put(url: &str, kind: &str, body: Vec<u8>) -> StatusCode {
    let request = Client::new().put(url).header("content-type", kind).body(body);
    request.send().await.expect("an answer").status()
}

#[tokio::test]
async fn a_prefix_is_taken_as_it_is_written() {
    let prefix = format!("tests/team~prod/{}", unique());
    let settings = S3Settings { prefix: prefix.clone(), ..settings() };
    let store = S3Files::connect(&settings, entropy()).expect("settings that fit");
    let upload = upload(ContentType::Png);
    let url = url(&store, &upload).await;
    assert!(url.contains(&format!("/{prefix}/staging/")), "{url}");
    assert_eq!(put(&url, "image/png", PNG.to_vec()).await, StatusCode::OK);
    complete(&store, &upload).await.expect("completed");
    let wrong = S3Settings { prefix: "tests/../other".to_owned(), ..settings };
    assert!(S3Files::connect(&wrong, entropy()).is_err());
}

#[tokio::test]
async fn what_is_staged_becomes_an_object_when_it_is_completed() {
    let store = store();
    let upload = upload(ContentType::Png);
    assert_eq!(complete(&*store, &upload).await, Err(FileRefused::NotArrived));
    let url = url(&*store, &upload).await;
    assert!(!url.contains("passwd"), "no name of the client's");
    assert_eq!(put(&url, "image/png", PNG.to_vec()).await, StatusCode::OK);
    let arrival = complete(&*store, &upload).await.expect("completed");
    assert_eq!(arrival.size, PNG.len() as u64);
    // The URL can still write to the staging key, and that changes nothing.
    assert_eq!(put(&url, "image/png", b"other".to_vec()).await, StatusCode::OK);
    assert_eq!(bytes(&*store, &arrival.object).await, Ok(PNG.to_vec()));

    let small = store.keep_beside(&arrival.object, vec![1, 2, 3]).await.expect("kept");
    store.sweep(&upload, Some(&arrival.object)).await.expect("swept");
    assert_eq!(bytes(&*store, &arrival.object).await, Ok(PNG.to_vec()));
    assert_eq!(bytes(&*store, &small).await, Ok(vec![1, 2, 3]));
    assert_eq!(complete(&*store, &upload).await, Err(FileRefused::NotArrived), "the staged object is gone");
    store.sweep(&upload, None).await.expect("swept");
    assert_eq!(bytes(&*store, &arrival.object).await, Err(FileRefused::NotArrived));
}

#[tokio::test]
async fn what_breaks_a_rule_is_refused_and_deleted() {
    let store = store();
    let too_large = [PNG, &vec![0; usize::try_from(MAX_FILE_BYTES).expect("fits")]].concat();
    for (body, refusal) in [
        (b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>".to_vec(), FileRefused::WrongType),
        (Vec::new(), FileRefused::WrongType),
        (too_large, FileRefused::TooLarge),
    ] {
        let upload = upload(ContentType::Png);
        assert_eq!(put(&url(&*store, &upload).await, "image/png", body).await, StatusCode::OK);
        assert_eq!(complete(&*store, &upload).await, Err(refusal));
        assert_eq!(complete(&*store, &upload).await, Err(FileRefused::NotArrived), "deleted");
    }
}

#[tokio::test]
async fn files_completed_together_are_answered_in_their_order() {
    let store = store();
    let uploads: Vec<_> = (0..10).map(|_| upload(ContentType::Png)).collect();
    for (place, upload) in uploads.iter().enumerate().filter(|(place, _)| place % 3 != 1) {
        let body = [PNG, &vec![0; place]].concat();
        assert_eq!(put(&url(&*store, upload).await, "image/png", body).await, StatusCode::OK);
    }
    let completed = store.complete(&uploads).await;
    assert_eq!(completed.len(), uploads.len());
    for (place, (upload, arrival)) in uploads.iter().zip(completed).enumerate() {
        if place % 3 == 1 {
            assert_eq!(arrival, Err(FileRefused::NotArrived));
        } else {
            let arrival = arrival.expect("completed");
            assert!(arrival.object.starts_with(upload.id.as_str()));
            assert_eq!(arrival.size, (PNG.len() + place) as u64);
        }
    }
}

#[tokio::test]
async fn a_url_is_good_for_one_key_one_type_and_a_while() {
    let store = store();
    let upload = upload(ContentType::Png);
    let good = url(&*store, &upload).await;
    assert_eq!(put(&good, "text/html", PNG.to_vec()).await, StatusCode::FORBIDDEN);
    let elsewhere = good.replacen(upload.id.as_str(), "another", 1);
    assert_eq!(put(&elsewhere, "image/png", PNG.to_vec()).await, StatusCode::FORBIDDEN);
    let now = SystemClock.now();
    let short = Upload { expires_at: now.plus(Duration::from_secs(1)), ..upload.clone() };
    let short = store.upload_url(&short, now).await.expect("signed").expect("a URL");
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while put(&short, "image/png", PNG.to_vec()).await == StatusCode::OK {
        assert!(std::time::Instant::now() < deadline, "the URL never ends");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(put(&short, "image/png", PNG.to_vec()).await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn it_is_ready_while_its_server_takes_its_credentials() {
    assert_eq!(store().ready().await, Ok(()));
    let wrong = S3Settings { credentials: Some(("quipu".to_owned(), Secret::new("wrong"))), ..settings() };
    let nobody = S3Settings { bucket: "nobody-has-this".to_owned(), ..settings() };
    let nowhere = S3Settings { endpoint: Some("http://127.0.0.1:1".to_owned()), ..settings() };
    for (settings, told) in [
        (wrong, "the server of the bucket refuses the credentials"),
        (nobody, "there is no such bucket, or it may not be listed"),
        (nowhere, "the bucket cannot be read"),
    ] {
        let files = S3Files::connect(&settings, entropy()).expect("settings");
        assert_eq!(files.ready().await, Err(told));
    }
}

#[tokio::test]
async fn a_bucket_that_is_gone_is_a_failure_and_not_a_file_that_never_was() {
    let nobody = S3Settings { bucket: "nobody-has-this".to_owned(), ..settings() };
    let files = S3Files::connect(&nobody, entropy()).expect("settings");
    let upload = upload(ContentType::Png);
    assert!(matches!(complete(&files, &upload).await, Err(FileRefused::Failed(_))));
    assert!(matches!(bytes(&files, "an-object").await, Err(FileRefused::Failed(_))));
    assert!(matches!(files.sweep(&upload, None).await, Err(FileRefused::Failed(_))));
}

#[tokio::test(start_paused = true)]
async fn a_bucket_that_takes_calls_and_answers_none_is_not_waited_for() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = silent.local_addr().expect("bound");
    tokio::spawn(async move {
        let mut calls = Vec::new();
        while let Ok((call, _)) = silent.accept().await {
            calls.push(call);
        }
    });
    let settings = S3Settings { endpoint: Some(format!("http://{address}")), ..settings() };
    let files = S3Files::connect(&settings, entropy()).expect("settings");
    let late = FileRefused::Failed("the bucket did not answer in time".to_owned());
    let begun = Instant::now();
    let uploads: Vec<_> = (0..20).map(|_| upload(ContentType::Png)).collect();
    assert_eq!(files.complete(&uploads).await, vec![Err(late.clone()); 20]);
    assert_eq!(begun.elapsed().as_secs(), 20, "for all files together");
    assert_eq!(bytes(&files, "an-object").await, Err(late.clone()));
    assert_eq!(begun.elapsed().as_secs(), 40);
    assert_eq!(files.delete("an-object").await, Err(late.clone()));
    assert_eq!(files.sweep(&uploads[0], None).await, Err(late));
    assert_eq!(begun.elapsed().as_secs(), 50, "a deletion has five seconds");
}
