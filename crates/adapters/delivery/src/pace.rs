//! The pace at which an endpoint answers.

/// Whether an endpoint is known to answer quickly. Quick ones have queues and places that unproven ones cannot
/// take, so that dead endpoints delay none that answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Its last answer was quick.
    Quick,
    /// It has not answered yet, or its last answer or failure was slow, or it hung.
    #[default]
    Unproven,
}

impl Pace {
    pub(crate) const fn is_quick(self) -> bool {
        matches!(self, Self::Quick)
    }

    pub(crate) const fn is_unproven(self) -> bool {
        matches!(self, Self::Unproven)
    }
}
