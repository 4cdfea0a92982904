use serde::Serialize;

/// `{"type":"ephemeral"}`: what stands before it may be cached.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Mark {
    r#type: &'static str,
}

/// The mark.
pub(crate) const MARK: Mark = Mark { r#type: "ephemeral" };
