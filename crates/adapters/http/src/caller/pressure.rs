//! When a creation is refused before any work is done for it.

use std::rc::Rc;

use actix_web::HttpRequest;
use quipu_kernel::MerchantId;

use crate::{answer::ApiError, connection::Conversation, state::AppState};

/// Refuses a creation that would be answered late: its turn in the commits is far away, or it has already waited for long
/// for its turn to begin. Who came later takes its place, and is answered in time.
pub(crate) fn judge(state: &AppState, request: &HttpRequest, merchant: MerchantId) -> Result<(), ApiError> {
    let is_late = request.conn_data::<Rc<Conversation>>().is_some_and(|it| it.is_late());
    if is_late || state.services.create.is_pressed(merchant) { Err(ApiError::Overloaded) } else { Ok(()) }
}
