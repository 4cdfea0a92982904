//! Providers over HTTP.

mod answer;
mod key;
mod retry_after;

use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};

pub use key::ApiKey;

use crate::openai::{Decoder, encode};
use crate::provider_error::shorten;
use crate::{EventStream, KeyNeed, Model, ModelError, ModelRequest, Provider};

/// A client for every server that speaks OpenAI's chat completions. It needs a tokio runtime.
///
/// One request is one connection at work; dropping the answer, or the future that waits for it, closes it. Nothing is
/// retried, and redirects are not followed, for they would carry the conversation to another place.
///
/// The key is sent to the provider's base URL and appears nowhere else: not in errors, not in `Debug`.
#[derive(Debug, Clone)]
pub struct OpenAiCompatible {
    client: Client,
    provider: Provider,
    url: Url,
    key: Option<ApiKey>,
    timeouts: Timeouts,
}

/// How long a client waits for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes of an answer, the first ones included.
    pub idle: Duration,
}

impl Default for Timeouts {
    /// Ten seconds to connect, two minutes of silence: a model that thinks may say nothing for a while.
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(120) }
    }
}

impl OpenAiCompatible {
    /// A client of this provider; the host brings the key.
    pub fn new(provider: Provider, key: Option<ApiKey>, timeouts: Timeouts) -> Result<Self, ModelError> {
        let misconfigured =
            |message: String| ModelError::Misconfigured { provider: provider.name.clone(), message };
        if key.is_none() && provider.key == KeyNeed::Required {
            return Err(misconfigured(format!("there is no key; set {} to one", provider.key_variable)));
        }
        let url = completions_url(&provider.base_url).map_err(misconfigured)?;
        let mut builder = Client::builder()
            .connect_timeout(timeouts.connect)
            .read_timeout(timeouts.idle)
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!("headstart/", env!("CARGO_PKG_VERSION")));
        if is_this_machine(&url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| misconfigured(reason(error)))?;
        Ok(Self { client, provider, url, key, timeouts })
    }

    async fn send(&self, request: &ModelRequest) -> Result<Response, ModelError> {
        let mut post = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream");
        for (name, value) in self.provider.wire.headers() {
            post = post.header(*name, *value);
        }
        if let Some(key) = &self.key {
            post = post.header(AUTHORIZATION, key.bearer(&self.provider)?);
        }
        let body = encode(request, &self.provider.wire);
        post.body(body).send().await.map_err(|error| self.not_sent(error))
    }

    fn not_sent(&self, error: reqwest::Error) -> ModelError {
        if error.is_timeout() && !error.is_connect() {
            return ModelError::Timeout { provider: self.provider.name.clone(), after: self.timeouts.idle };
        }
        let message = if error.is_timeout() {
            format!("no connection within {} s", self.timeouts.connect.as_secs_f32())
        } else {
            reason(error)
        };
        ModelError::Unreachable { url: self.url.to_string(), message }
    }

    /// The error in a response that is not a success.
    async fn refused(&self, mut response: Response) -> ModelError {
        const BODY_BYTES: usize = 16 * 1024;
        let status = response.status();
        let retry_after = retry_after::read(response.headers());
        let mut body = Vec::new();
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if BODY_BYTES < body.len() {
                break;
            }
        }
        let body = String::from_utf8_lossy(&body);
        // Some servers show the key that they refuse.
        let body = self.key.as_ref().map_or(body.to_string(), |key| key.hide_in(&body));
        self.provider.error(status.as_u16(), retry_after, &body)
    }
}

#[async_trait]
impl Model for OpenAiCompatible {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let response = self.send(request).await?;
        if response.status() != StatusCode::OK {
            return Err(self.refused(response).await);
        }
        let streams = response
            .headers()
            .get(CONTENT_TYPE)
            .is_none_or(|kind| !kind.as_bytes().starts_with(b"application/json"));
        let answer = answer::Answer {
            decoder: Decoder::new(&self.provider, request),
            provider: self.provider.clone(),
            idle: self.timeouts.idle,
            key: self.key.clone(),
        };
        Ok(if streams { answer.events(response) } else { answer.whole(response) })
    }
}

fn completions_url(base: &str) -> Result<Url, String> {
    let wrong = |why: &str| format!("the base URL {:?} {why}; it looks like https://HOST/v1", shorten(base));
    let mut url = Url::parse(base.trim()).map_err(|error| wrong(&format!("is not valid ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the base URL holds a user name or password; they belong in the key".into());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("the base URL has a query or a fragment; leave them out".into());
    }
    let path = url.path().trim_end_matches('/').trim_end_matches("/chat/completions");
    url.set_path(&format!("{path}/chat/completions"));
    Ok(url)
}

/// A proxy of the environment has no business between two programs of one machine.
fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// The innermost cause: the outer ones only say that sending failed.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    shorten(&cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls() {
        let cases = [
            ("https://api.openai.com/v1", Ok("https://api.openai.com/v1/chat/completions")),
            ("http://localhost:11434/v1/", Ok("http://localhost:11434/v1/chat/completions")),
            ("https://host/x/chat/completions", Ok("https://host/x/chat/completions")),
            (
                "localhost",
                Err(
                    "the base URL \"localhost\" is not valid (relative URL without a base); it looks like https://HOST/v1",
                ),
            ),
            (
                "ftp://host/v1",
                Err(
                    "the base URL \"ftp://host/v1\" is neither http nor https; it looks like https://HOST/v1",
                ),
            ),
            (
                "https://user:secret@host/v1",
                Err("the base URL holds a user name or password; they belong in the key"),
            ),
            ("https://host/v1?key=secret", Err("the base URL has a query or a fragment; leave them out")),
        ];
        for (base, expected) in cases {
            let found = completions_url(base);
            assert_eq!(found.as_ref().map(Url::as_str).map_err(String::as_str), expected, "{base}");
        }
    }

    #[test]
    fn loopback_is_this_machine() {
        let cases = [
            ("http://localhost/", true),
            ("http://127.8.9.1:80/", true),
            ("http://[::1]/", true),
            ("http://10.0.0.1/", false),
            ("https://localhost.example/", false),
        ];
        for (url, expected) in cases {
            assert_eq!(is_this_machine(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn a_key_that_is_needed_is_asked_for_by_name() {
        let error = OpenAiCompatible::new(Provider::dashscope(), None, Timeouts::default()).unwrap_err();
        assert_eq!(error.to_string(), "dashscope: there is no key; set DASHSCOPE_API_KEY to one");
        OpenAiCompatible::new(Provider::ollama(), None, Timeouts::default()).unwrap();
    }

    #[test]
    fn debug_shows_no_key() {
        let key = ApiKey::new("sk-very-secret");
        let client = OpenAiCompatible::new(Provider::openai(), Some(key), Timeouts::default()).unwrap();
        assert!(!format!("{client:?}").contains("very-secret"));
    }
}
