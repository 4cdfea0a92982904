//! Providers over HTTP.

mod config_problem;
mod extra_fields;
mod headers;
mod key;
mod limiter;
mod prefix;
mod prefix_caching_model;
mod proxy;
mod refused_parameters;
mod response_stream;
mod retry_after;
mod retrying_model;
#[cfg(feature = "bedrock")]
mod signing;
mod url;

use std::collections::VecDeque;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use tokio::time::Instant;
use tracing::debug;

pub use extra_fields::{ExtraFields, FieldScope};
pub use key::ApiKey;
pub use limiter::RateLimiter;
pub use prefix_caching_model::{PrefixCacheReader, PrefixCachingModel};
pub use proxy::proxy_problem;
pub use retrying_model::{PendingRetry, PendingRetrySender, RetryingModel, WaitCause};
#[cfg(feature = "bedrock")]
pub use signing::AwsKeys;

use config_problem::ConfigProblem;

use crate::provider_error::{is_page, shorten};
use crate::redact::Redactor;
use crate::{Decoder, KeyRequirement, Provider, Wire};
use headstart_forked_query::{EventStream, Model, ModelError, ModelRequest};

/// A client for every [`Provider`]. It needs a tokio runtime.
///
/// Each request uses one connection; dropping the answer, or the future that waits for it, closes it. A failed
/// request is not repeated here ([`RetryingModel`](crate::RetryingModel) does that), with one exception: if the
/// server refuses a parameter that it does not know, the request is sent again without it, and so are later requests
/// to the same model ([`Wire::refused_parameter`](crate::Wire::refused_parameter)). Redirects are not followed,
/// because they would send the conversation elsewhere.
///
/// The key is sent to the provider's base URL and appears nowhere else, neither in errors nor in `Debug`.
#[derive(Debug, Clone)]
pub struct HttpModel {
    client: Client,
    provider: Provider,
    base: Url,
    key: Option<ApiKey>,
    timeouts: Timeouts,
    refused_parameters: refused_parameters::RefusedParameters,
    /// Headers that the host adds.
    headers: HeaderMap,
    extra_fields: ExtraFields,
    passes_on_fragments: bool,
    #[cfg(feature = "bedrock")]
    signer: Option<signing::Signer>,
    /// Everything that must not appear in an error.
    redactor: Redactor,
}

/// How long a client waits for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For making a connection.
    pub connect: Duration,
    /// For the first bytes of an answer. A queue, loading the model or a long prompt may take a while.
    pub first_byte: Duration,
    /// For the next bytes.
    pub idle: Duration,
    /// For the next piece of the answer. Bytes that are only keep-alives do not count.
    pub stalled: Duration,
}

impl Default for Timeouts {
    /// Ten seconds to connect, two minutes for the first bytes and between any others, because a model that thinks
    /// may be silent for a while. Ten minutes if there are keep-alives.
    fn default() -> Self {
        let silence = Duration::from_secs(120);
        let stalled = Duration::from_secs(600);
        Self { connect: Duration::from_secs(10), first_byte: silence, idle: silence, stalled }
    }
}

/// Makes ring the process's cryptography provider for TLS, unless it has one already. [`HttpModel::new`] does so too;
/// a host calls this before it builds a client of its own with reqwest.
pub fn install_tls_provider() {
    // An error means that there is one already, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

impl HttpModel {
    /// A client of this provider; the host brings the key.
    pub fn new(provider: Provider, key: Option<ApiKey>, timeouts: Timeouts) -> Result<Self, ModelError> {
        let misconfigured = |problem: ConfigProblem| problem.into_error(&provider);
        if key.is_none() && provider.key == KeyRequirement::Required {
            return Err(misconfigured(
                format!("there is no key; set {} to one", provider.key_variable).into(),
            ));
        }
        let base = url::base_url(&provider).map_err(misconfigured)?;
        let headers = headers::of(&provider).map_err(misconfigured)?;
        install_tls_provider();
        let mut builder = Client::builder()
            .connect_timeout(timeouts.connect)
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!("headstart/", env!("CARGO_PKG_VERSION")));
        if url::is_this_machine(&base) {
            builder = builder.no_proxy();
            if base.scheme() == "http" {
                // Reading the system's certificates takes longer than a request.
                builder = builder.tls_certs_only([]);
            }
        }
        let client = builder.build().map_err(|error| misconfigured(build_error(error)))?;
        let redactor = Redactor::new(key.as_ref().map_or("", ApiKey::text));
        let redactor =
            provider.headers.iter().fold(redactor, |redactor, header| redactor.with_secret(&header.value));
        let redactor = base.query_pairs().fold(redactor, |redactor, (_, value)| redactor.with_secret(&value));
        Ok(Self {
            client,
            provider,
            base,
            key,
            timeouts,
            refused_parameters: refused_parameters::RefusedParameters::default(),
            headers,
            extra_fields: ExtraFields::default(),
            passes_on_fragments: false,
            #[cfg(feature = "bedrock")]
            signer: None,
            redactor,
        })
    }

    /// The same client, which adds these fields to its requests.
    #[must_use]
    pub fn with_fields(self, extra_fields: ExtraFields) -> Self {
        Self { extra_fields, ..self }
    }

    /// The same client, which signs its requests with these keys; no error shows them. `clock` is the time since
    /// 1970.
    #[cfg(feature = "bedrock")]
    #[must_use]
    pub fn signed(self, keys: AwsKeys, clock: crate::Clock) -> Self {
        let redactor = self
            .redactor
            .with_secret(&keys.secret_access_key)
            .with_secret(keys.session_token.as_deref().unwrap_or_default());
        Self { signer: Some(signing::Signer { keys, clock }), redactor, ..self }
    }

    /// The same client, whose answers also have the characters of calls as they come
    /// ([`ModelEvent::CallFragment`](headstart_forked_query::ModelEvent::CallFragment)).
    #[must_use]
    pub fn with_call_fragments(self) -> Self {
        Self { passes_on_fragments: true, ..self }
    }

    /// The body of the answer to a request that is answered at once.
    async fn post_for_text(&self, url: Url, body: Vec<u8>) -> Result<String, ModelError> {
        let mut response = self.post(url, "application/json", body).await?;
        match response.status() {
            StatusCode::OK => Ok(self.body_start(&mut response).await),
            _ => Err(self.status_error(response).await),
        }
    }

    /// Posts JSON to another interface of the same server, at a path below the base URL and with the key, and returns
    /// the body of the answer: vectors of texts, a ranking of passages. A body of more than `most` bytes is an error,
    /// and so is one that is not complete within the time limit for the first bytes of a request.
    pub async fn post_json(&self, path: &str, body: Vec<u8>, most: usize) -> Result<String, ModelError> {
        let deadline = Instant::now() + self.first_byte_limit();
        let mut response = self.post(self.url_of(path), "application/json", body).await?;
        if response.status() != StatusCode::OK {
            return Err(self.status_error(response).await);
        }
        let dropped = |error: reqwest::Error| self.dropped_error(error);
        let mut body = Vec::new();
        let read = async {
            while let Some(bytes) = response.chunk().await.map_err(dropped)? {
                body.extend_from_slice(&bytes);
                if most < body.len() {
                    return Err(self.malformed(&format!("an answer of more than {most} bytes")));
                }
            }
            Ok(())
        };
        let silence =
            |_| ModelError::Timeout { provider: self.provider.label(), after: self.timeouts.first_byte };
        tokio::time::timeout_at(deadline, read).await.map_err(silence)??;
        String::from_utf8(body).map_err(|error| ModelError::Malformed {
            provider: self.provider.label(),
            message: "an answer that is no text".to_owned(),
            source: Some(error.utf8_error().into()),
        })
    }

    /// Whether the server is on this machine, so that nothing leaves it.
    pub fn is_on_this_machine(&self) -> bool {
        url::is_this_machine(&self.base)
    }

    /// Deletes a resource. It is no error if it does not exist.
    async fn delete(&self, url: Url) -> Result<(), ModelError> {
        let response = self.exchange(self.client.delete(url.clone()), &url).await?;
        match response.status() {
            StatusCode::OK | StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.status_error(response).await),
        }
    }

    /// The same client with another wire format.
    fn with_wire(&self, wire: Wire) -> Self {
        Self { provider: Provider { wire, ..self.provider.clone() }, ..self.clone() }
    }

    fn url_of(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        url
    }

    /// Sends a request, and repeats it without a parameter as long as the server refuses one. Returns the successful
    /// answer, and the deadline for its first bytes.
    async fn send(&self, request: &ModelRequest) -> Result<(Response, Instant), ModelError> {
        let mut attempt = self.refused_parameters.attempt(&request.model);
        let url = url::request_url(&self.base, &self.provider, &request.model);
        loop {
            let wire = attempt.wire(&self.provider.wire);
            // One deadline for the headers and the first bytes after them. Connecting has a limit of its own.
            let deadline = Instant::now() + self.first_byte_limit();
            let mut response = self
                .post(
                    url.clone(),
                    wire.accept(),
                    self.extra_fields.add_to(wire.encode(&self.extra_fields.leaving_room(request)), request),
                )
                .await?;
            let status = response.status();
            if status == StatusCode::OK {
                self.refused_parameters.remember(&request.model, attempt);
                return Ok((response, deadline));
            }
            if status.is_redirection() {
                return Err(self.redirect_error(&response));
            }
            let body = self.body_start(&mut response).await;
            if !attempt.retry_without_refused(&self.provider.wire, status.as_u16(), &body) {
                return Err(self.status_error_of(&response, &body));
            }
        }
    }

    async fn post(&self, url: Url, accept: &'static str, body: Vec<u8>) -> Result<Response, ModelError> {
        let post =
            self.client.post(url.clone()).header(CONTENT_TYPE, "application/json").header(ACCEPT, accept);
        self.exchange(post.body(body), &url).await
    }

    /// Sends a request with key and headers, and waits for the headers of its answer.
    async fn exchange(&self, mut request: RequestBuilder, url: &Url) -> Result<Response, ModelError> {
        for (name, value) in self.provider.wire.headers() {
            request = request.header(*name, *value);
        }
        if let Some(key) = &self.key {
            let (name, value) = key.header(&self.provider)?;
            request = request.header(name, value);
        }
        // The host's headers replace those of the format.
        request = request.headers(self.headers.clone());
        let request = request.build().map_err(|error| build_error(error).into_error(&self.provider))?;
        #[cfg(feature = "bedrock")]
        let request = self.with_signature(request)?;
        let sent = tokio::time::timeout(self.first_byte_limit(), self.client.execute(request)).await;
        let silence =
            |_| ModelError::Timeout { provider: self.provider.label(), after: self.timeouts.first_byte };
        let response =
            sent.map_err(silence).and_then(|sent| sent.map_err(|error| self.send_error(url, error)));
        debug!(
            provider = self.provider.name,
            server = url.host_str(),
            status = response.as_ref().ok().map(|response| response.status().as_u16()),
            error = response.as_ref().err().map(ModelError::code),
            "a server was asked"
        );
        response
    }

    /// The request, signed if the client has keys for that.
    #[cfg(feature = "bedrock")]
    fn with_signature(&self, mut request: reqwest::Request) -> Result<reqwest::Request, ModelError> {
        if let Some(signer) = &self.signer {
            signer.sign(&mut request).map_err(|cause| ModelError::Misconfigured {
                provider: self.provider.name.clone(),
                message: format!(
                    "the request cannot be signed: {}",
                    self.redactor.shorten(&cause.to_string())
                ),
                source: self.redactor.cause(cause),
            })?;
        }
        Ok(request)
    }

    fn send_error(&self, url: &Url, error: reqwest::Error) -> ModelError {
        let error = error.without_url();
        if !error.is_connect() && !error.is_timeout() {
            // The server received the request, or part of it, and closed the connection.
            return self.dropped_error(error);
        }
        let why = if error.is_timeout() {
            format!("no connection within {} s", self.timeouts.connect.as_secs_f32())
        } else {
            innermost_error(&error)
        };
        let is_unknown = is_unknown_authority(&why);
        let why = self.redactor.shorten(&why);
        let message = match proxy::in_use(url) {
            _ if is_unknown => format!(
                "{why}; to trust whoever signed its certificate, name their file (PEM) in SSL_CERT_FILE, or add it to those of the system"
            ),
            Some(proxy) => {
                let names = proxy::variables(url).map(|[name, _]| name).join(" or ");
                format!("through the proxy {proxy}: {why}; check that it runs, or unset {names}")
            }
            None => {
                return self.provider.connection_error(
                    &url::displayable(url),
                    &why,
                    self.redactor.cause(error),
                    &self.redactor,
                );
            }
        };
        let source = self.redactor.cause(error);
        ModelError::Unreachable { url: self.redactor.redact(&url::displayable(url)), message, source }
    }

    fn dropped_error(&self, error: reqwest::Error) -> ModelError {
        ModelError::Dropped {
            provider: self.provider.label(),
            source: self.redactor.cause(error.without_url()),
        }
    }

    /// The error for a response that is not a success.
    async fn status_error(&self, mut response: Response) -> ModelError {
        if response.status().is_redirection() {
            return self.redirect_error(&response);
        }
        let body = self.body_start(&mut response).await;
        self.status_error_of(&response, &body)
    }

    fn status_error_of(&self, response: &Response, body: &str) -> ModelError {
        let retry_after = retry_after::read(response.headers());
        self.provider.redacted_status_error(response.status().as_u16(), retry_after, body, &self.redactor)
    }

    fn redirect_error(&self, response: &Response) -> ModelError {
        self.provider.wrong_server(&redirect(response), &self.redactor)
    }

    /// The error for a web page in place of an answer.
    async fn page_error(&self, mut response: Response) -> ModelError {
        let body = self.body_start(&mut response).await;
        let answered = if is_page(&body) { body } else { format!("a web page: {body}") };
        self.provider.wrong_server(&answered, &self.redactor)
    }

    /// The time limit for the first bytes; more than a day counts as no limit.
    fn first_byte_limit(&self) -> Duration {
        const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
        self.timeouts.connect.saturating_add(self.timeouts.first_byte).min(LONGEST)
    }

    fn malformed(&self, message: &str) -> ModelError {
        self.provider.malformed(message, &self.redactor)
    }

    /// The beginning of a body, as much as comes within a moment.
    async fn body_start(&self, response: &mut Response) -> String {
        const BODY_BYTES: usize = 16 * 1024;
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(bytes)) = response.chunk().await {
                body.extend_from_slice(&bytes);
                if BODY_BYTES < body.len() {
                    break;
                }
            }
        };
        // What was received is enough.
        let _ = tokio::time::timeout(self.timeouts.idle, read).await;
        body.truncate(BODY_BYTES);
        String::from_utf8_lossy(&body).into_owned()
    }
}

#[async_trait]
impl Model for HttpModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let (response, deadline) = self.send(request).await?;
        let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes().to_ascii_lowercase());
        let is = |prefix: &[u8]| kind.as_ref().is_some_and(|kind| kind.starts_with(prefix));
        if is(b"text/html") {
            return Err(self.page_error(response).await);
        }
        let mut decoder = Decoder::new(&self.provider, request).with_redactor(self.redactor.clone());
        if self.passes_on_fragments {
            decoder = decoder.with_call_fragments();
        }
        // Servers also use this media type for lines of JSON.
        if is(b"application/json") && self.provider.wire.accept() == "text/event-stream" {
            decoder = decoder.unstreamed();
        }
        let answer = response_stream::ResponseStream {
            provider: self.provider.label(),
            decoder,
            response,
            silence: self.timeouts.first_byte,
            patience: self.timeouts.first_byte.min(deadline.saturating_duration_since(Instant::now())),
            timeouts: self.timeouts,
            last_growth: (Instant::now(), 0),
            answered_at: None,
            ready: VecDeque::new(),
        };
        Ok(answer.events())
    }
}

/// The target of a redirect, without parts that may be secret.
fn redirect(response: &Response) -> String {
    let status = response.status().as_u16();
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let Some(mut to) = location.and_then(|location| response.url().join(location).ok()) else {
        return format!("a redirect ({status})");
    };
    to.set_query(None);
    to.set_fragment(None);
    // Addresses of other kinds do not have these parts.
    let _ = to.set_username("");
    let _ = to.set_password(None);
    format!("a redirect ({status}) to {to}")
}

/// The innermost error, because the outer ones only say that sending failed.
fn innermost_error(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    shorten(&cause.to_string())
}

/// Whether a certificate was refused because nobody here knows who signed it, as of the proxy of a company.
fn is_unknown_authority(why: &str) -> bool {
    why.contains("UnknownIssuer")
}

/// The error if a request cannot even be made.
fn build_error(error: reqwest::Error) -> ConfigProblem {
    let error = error.without_url();
    ConfigProblem::new(innermost_error(&error), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a provider needs a key, an error names the variable that should have it.
    #[test]
    fn a_key_that_is_needed_is_asked_for_by_name() {
        let error = HttpModel::new(Provider::dashscope(), None, Timeouts::default()).unwrap_err();
        assert_eq!(error.to_string(), "dashscope: there is no key; set DASHSCOPE_API_KEY to one");
        HttpModel::new(Provider::ollama(), None, Timeouts::default()).unwrap();
    }

    #[test]
    fn debug_shows_no_key() {
        let key = ApiKey::new("sk-very-secret");
        let client = HttpModel::new(Provider::openai(), Some(key), Timeouts::default()).unwrap();
        assert!(!format!("{client:?}").contains("very-secret"));
    }
}
