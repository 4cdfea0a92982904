use serde::Serialize;

/// `{"type":"ephemeral"}`: what stands before it may be cached.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct CacheControl {
    r#type: &'static str,
}

/// The mark.
pub(crate) const EPHEMERAL: CacheControl = CacheControl { r#type: "ephemeral" };
