use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The source of another error. Unlike most errors, it can be cloned and compared.
///
/// In the chain of [`Error::source`], callers find the original error and not this type, so `downcast_ref` finds an
/// `io::Error` there. To make this possible it does not implement `Error` itself but dereferences to the error in it,
/// as `Box<dyn Error>` does.
///
/// Two are equal if their errors have the same words, because errors in general cannot be compared otherwise.
#[derive(Clone)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl<E: Error + Send + Sync + 'static> From<E> for Cause {
    fn from(error: E) -> Self {
        Self(Arc::new(error))
    }
}

impl Deref for Cause {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.to_string() == other.0.to_string()
    }
}

impl Eq for Cause {}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::ModelError;

    #[test]
    fn the_error_itself_is_in_the_chain() {
        let caused = |kind: io::ErrorKind| ModelError::Cut {
            provider: "p".into(),
            source: Some(io::Error::from(kind).into()),
        };
        let error = caused(io::ErrorKind::BrokenPipe);
        let below = error.source().and_then(<dyn Error>::downcast_ref::<io::Error>);
        assert_eq!(below.map(io::Error::kind), Some(io::ErrorKind::BrokenPipe));

        assert_eq!(error, error.clone());
        assert_eq!(error, caused(io::ErrorKind::BrokenPipe));
        assert_ne!(error, caused(io::ErrorKind::ConnectionReset));
        assert_ne!(error, ModelError::Cut { provider: "p".into(), source: None });
    }
}
