//! Long answers and long bodies.

use std::{pin::pin, sync::Arc, time::Duration};

use actix_web::{App, FromRequest as _, body::MessageBody, test, web::Payload};
use serde_json::json;
use tokio::sync::watch;

use super::{
    table::{ACCESSES, FAMILIES, HELLO, Matrix, path_of, table},
    world::request,
};
use crate::{
    routing::dispatch::dispatch,
    server::configure_with,
    state::{AppState, Sender},
    stop::Stop,
};

/// How long a stream may go on after the order to stop.
const PATIENCE: Duration = Duration::from_secs(10);

#[actix_web::test]
async fn a_stream_behind_every_door_goes_on_until_the_process_is_told_to_stop() {
    let mut matrix = Matrix::new().await;
    let told = watch::Sender::new(false);
    matrix.world.services.stop = Stop::on(told.subscribe());
    let routes = configure_with(matrix.world.services.clone(), matrix.world.settings.clone(), table());
    let app = test::init_service(App::new().configure(routes)).await;
    let mut open = Vec::new();
    for access in ACCESSES {
        for (family, _) in FAMILIES {
            let path = matrix.path(access, "stream", family);
            let request = matrix.with_credentials(access, "stream", &path).to_request();
            let response = test::call_service(&app, request).await;
            assert_eq!(response.status(), 200, "{path}");
            assert_eq!(response.headers().get("content-type").expect("a type"), "text/event-stream");
            let mut body = response.into_body();
            let first = std::future::poll_fn(|context| pin!(&mut body).poll_next(context)).await;
            assert_eq!(first.expect("a piece").expect("no error"), HELLO);
            open.push(body);
        }
    }
    told.send_replace(true);
    for mut body in open {
        let end = std::future::poll_fn(|context| pin!(&mut body).poll_next(context));
        let end = tokio::time::timeout(PATIENCE, end).await.expect("it hears that it is to stop");
        assert!(end.is_none());
    }
}

#[actix_web::test]
async fn an_upload_is_read_in_pieces_up_to_its_bound() {
    let matrix = Matrix::new().await;
    let put = |bytes: usize| request("PUT", "/upload").set_payload(vec![7; bytes]);
    let whole = matrix.app_send(put(100_000)).await;
    assert_eq!(whole.body["data"], json!({"bytes": 100_000, "in_pieces": true}));
    let announced = put(100_001).insert_header(("Content-Length", "100001"));
    for refused in [put(100_001), announced] {
        let refused = matrix.app_send(refused).await;
        assert_eq!((refused.code(), &refused.body["success"]), ((413, "BODY_TOO_LARGE"), &json!(false)));
    }
}

#[actix_web::test]
async fn a_form_is_read_as_browsers_send_it() {
    let matrix = Matrix::new().await;
    let post = |kind: &'static str| {
        request("POST", "/form")
            .insert_header(("Content-Type", kind))
            .set_payload("recipient_name=Ana+Mar%C3%ADa&x=1")
    };
    let read = matrix.app_send(post("application/x-www-form-urlencoded")).await;
    assert_eq!(read.body["data"]["recipient_name"], "Ana María");
    assert_eq!(matrix.app_send(post("application/json")).await.code(), (415, "UNSUPPORTED_MEDIA_TYPE"));
    let by_browser = post("application/json").insert_header(("Accept", "text/html,*/*;q=0.8"));
    let refused = matrix.app_send(by_browser).await;
    assert_eq!((refused.status, refused.header("content-type")), (415, Some("text/html; charset=utf-8")));
}

#[actix_web::test]
async fn a_callback_reaches_its_handler_byte_for_byte() {
    let matrix = Matrix::new().await;
    let raw = "\u{feff} {\"a\" : 1}\r\n";
    let post = || request("POST", "/raw").insert_header(("Content-Type", "text/plain")).set_payload(raw);
    assert_eq!(matrix.app_send(post().insert_header(("X-Secret", "right"))).await.text, raw);
    assert_eq!(matrix.app_send(post()).await.code(), (401, "SIGNATURE_INVALID"));
}

#[actix_web::test]
async fn whoever_fills_its_share_of_the_memory_for_bodies_keeps_out_only_itself() {
    let matrix = Matrix::new().await;
    let (services, settings) = (matrix.world.services.clone(), matrix.world.settings.clone());
    let state = Arc::new(AppState::new(services, settings, |_| panic!("no document is asked for")));
    let greedy = Sender::Merchant(matrix.merchant);
    let full = state.memory.room(greedy);
    let rows = table();
    let answer = async |access: &str| {
        let path = path_of(access, "{id}", "ticket", "api");
        let row = rows.iter().find(|row| row.path() == path).expect("a row");
        let request = matrix.with_credentials(access, "ticket", &matrix.path(access, "ticket", "api"));
        let (request, mut payload) = request.to_http_parts();
        let payload = Payload::from_request(&request, &mut payload).await.expect("a body");
        dispatch(row, Arc::clone(&state), request, payload).await.status().as_u16()
    };
    assert!(full.grow_to(64 * 1024 * 1024 - 1024));
    assert_eq!(answer("key").await, 201, "its last place is for this one");
    assert!(full.grow_to(64 * 1024 * 1024));
    assert_eq!((answer("key").await, answer("token").await), (503, 503));
    assert_eq!((answer("signed").await, answer("staff").await, answer("visitor").await), (201, 201, 201));
    drop(full);
    assert_eq!(answer("key").await, 201);
}
