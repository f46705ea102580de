//! Templates as HTML.

use askama::Template;

/// A filled template as HTML. This cannot fail: writing to a text fails only if a value's own `Display` does, and the
/// values of the pages are texts and numbers.
pub(crate) fn rendered(page: &impl Template) -> String {
    // A value that breaks the rule must not end as an empty page.
    page.render().unwrap_or_else(|error| unreachable!("a page cannot be rendered: {error}"))
}
