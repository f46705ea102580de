//! The body of one request, on its way from the entrance to the handler.

use std::{
    cell::{Cell, OnceCell, RefCell},
    rc::Rc,
    time::Duration,
};

use actix_web::{HttpRequest, dev::Payload, http::header, web::Bytes};

use super::body::{self, Intake, SharedPayload, Upload};
use crate::{
    answer::ApiError,
    connection::{
        Conversation,
        proxies::{client, subscriber},
    },
    state::{AppState, IN_A_HURRY, Sender},
};

/// A body that is read when it is first asked for. Only then is a client that waits for `100 Continue` asked
/// to send it, so that an earlier refusal spares it the sending (RFC 9110, section 10.1.1).
pub(crate) struct Content {
    intake: Intake,
    payload: SharedPayload,
    /// The state shared with the socket; `None` without a socket, as in tests.
    conversation: Option<Rc<Conversation>>,
    patience: Cell<Duration>,
    /// Its sender, once authenticated. The memory for bodies that arrive is limited, in all and for each
    /// sender.
    sender: Cell<Option<Sender>>,
    /// Whether all of it has arrived.
    is_over: Cell<bool>,
    whole: OnceCell<Bytes>,
}

impl Content {
    /// The body of a request, read as its route says, within `patience`.
    pub(crate) fn new(intake: Intake, request: &HttpRequest, payload: Payload, patience: Duration) -> Self {
        let whole = OnceCell::new();
        if !body::has_body(request.method()) || intake == Intake::Nothing {
            // It is not read, even if one is sent.
            whole.get_or_init(Bytes::new);
        }
        Self {
            intake,
            payload: Rc::new(RefCell::new(payload)),
            conversation: request.conn_data::<Rc<Conversation>>().cloned(),
            patience: Cell::new(patience),
            sender: Cell::new(None),
            is_over: Cell::new(!body::is_announced(request)),
            whole,
        }
    }

    /// Notes that its sender is authenticated, and who it is.
    pub(crate) fn is_of(&self, sender: Sender) {
        self.sender.set(Some(sender));
    }

    /// Its sender, if authenticated.
    pub(crate) const fn sender(&self) -> Option<Sender> {
        self.sender.get()
    }

    /// Shortens the time in which it must arrive, since its sender has failed too often.
    pub(crate) fn hurry(&self) {
        self.patience.set(self.patience.get().min(IN_A_HURRY));
    }

    /// Refuses a body that its head shows to be too large or of another type.
    pub(crate) fn judge_head(&self, request: &HttpRequest) -> Result<(), ApiError> {
        if self.whole.get().is_some() {
            return Ok(());
        }
        self.judge_length(request)?;
        self.intake.judge_announced(request)
    }

    fn judge_length(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let at_most = self.intake.at_most();
        let is_too_large = body::declared_length(request).is_some_and(|length| length > at_most);
        if is_too_large { Err(body::too_large(at_most)) } else { Ok(()) }
    }

    /// The whole body.
    pub(crate) async fn whole(&self, state: &AppState, request: &HttpRequest) -> Result<Bytes, ApiError> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole.clone());
        }
        let whole = self.untyped(state, request).await?;
        self.intake.judge_type(request, &whole)?;
        Ok(whole)
    }

    /// The whole body, of any type: for callers that must authenticate its sender before judging the type.
    pub(crate) async fn untyped(&self, state: &AppState, request: &HttpRequest) -> Result<Bytes, ApiError> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole.clone());
        }
        self.judge_length(request)?;
        let at_most = self.intake.at_most();
        let stranger = || Sender::Stranger(client(request, &state.settings.trusted_proxies).map(subscriber));
        let room = state.memory.room(self.sender.get().unwrap_or_else(stranger));
        let announced =
            self.conversation.as_deref().and_then(|conversation| body::wanted(conversation, at_most));
        let at_most = usize::try_from(at_most).unwrap_or(usize::MAX);
        let mut payload = self.payload.borrow_mut().take();
        let patience = self.patience.get();
        let read = body::read(&mut payload, at_most, &room, patience, announced.as_deref()).await;
        match &read {
            Ok(whole) => {
                self.is_over.set(true);
                self.whole.get_or_init(|| whole.clone());
            }
            Err(_) => *self.payload.borrow_mut() = payload,
        }
        read
    }

    /// The body as a stream, or `None` on a route whose body is read whole.
    pub(crate) fn upload(&self) -> Option<Upload> {
        let Intake::Stream(at_most) = self.intake else { return None };
        let (payload, conversation) = (Rc::clone(&self.payload), self.conversation.clone());
        Some(Upload::new(payload, conversation, at_most, self.patience.get()))
    }

    /// The unread rest of the body, or `None` if the rest was short and has arrived, so that the connection can be reused.
    pub(crate) async fn leave(&self, request: &HttpRequest, has_patience: bool) -> Option<Payload> {
        if self.is_over.get() {
            return None;
        }
        let mut rest = self.payload.borrow_mut().take();
        let expects = request.headers().contains_key(header::EXPECT);
        if has_patience && !expects && body::is_soon_over(&mut rest).await { None } else { Some(rest) }
    }
}
