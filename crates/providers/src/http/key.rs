use std::fmt;

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::config_problem::ConfigProblem;
use crate::{KeyHeader, Provider};
use headstart_forked_query::ModelError;

/// A provider's key. It can be sent, but neither printed nor compared.
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// The key as the host found it, without white space around it.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// The header that carries it.
    pub(super) fn header(&self, provider: &Provider) -> Result<(HeaderName, HeaderValue), ModelError> {
        let (name, text) = match provider.key_header() {
            KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {}", self.0)),
            KeyHeader::Named(name) => (HeaderName::from_static(name), self.0.clone()),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|error| {
            let message =
                format!("the key holds characters that no key has; check {}", provider.key_variable);
            ConfigProblem::new(message, error).into_error(provider)
        })?;
        value.set_sensitive(true);
        Ok((name, value))
    }

    /// The key's text, for code that keeps it out of messages.
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = ApiKey::new(" sk-secret\n");
        assert_eq!(format!("{key:?}"), "ApiKey(***)");
        let error = ApiKey::new("sk-\u{7}").header(&Provider::openai()).unwrap_err().to_string();
        assert_eq!(error, "openai: the key holds characters that no key has; check OPENAI_API_KEY");
    }
}
