//! Turns a provider's refusals into errors.

mod page;

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;

#[cfg(feature = "http")]
pub(crate) use page::is_page;

use crate::Provider;
use crate::provider::is_this_machine;
use crate::redact::Redactor;
use crate::wire::{Frames, Framing};
use headstart_forked_query::{Cause, ModelError};

/// The longest message. A provider that repeats the request would otherwise flood the terminal.
const MESSAGE_CHARS: usize = 300;

/// For a host that does its own HTTP: errors with the same words as those of `HttpModel`. `key`, and every larger
/// piece of it, is removed from them.
impl Provider {
    /// The error for a response that is not an answer: from its status, the time that its headers ask to wait, and
    /// (the beginning of) its body.
    pub fn status_error(
        &self,
        status: u16,
        retry_after: Option<Duration>,
        body: &str,
        key: &str,
    ) -> ModelError {
        self.redacted_status_error(status, retry_after, body, &Redactor::new(key))
    }

    /// The error if the server does not use this wire format (it answers with a redirect or a web page). `answered`
    /// is what was received.
    pub fn wrong_server_error(&self, answered: &str, key: &str) -> ModelError {
        self.wrong_server(answered, &Redactor::new(key))
    }

    /// The error where there is no connection.
    pub fn unreachable_error(&self, url: &str, why: &str, key: &str) -> ModelError {
        self.connection_error(url, why, None, &Redactor::new(key))
    }
}

impl Provider {
    pub(crate) fn connection_error(
        &self,
        url: &str,
        why: &str,
        source: Option<Cause>,
        redactor: &Redactor,
    ) -> ModelError {
        // The system's words for a name that no server of names knows, or that none was there to ask for.
        let is_name = ["failed to lookup address", "dns error"].iter().any(|words| why.contains(words));
        let advice = if is_name {
            "check the network, and the name of the server".to_owned()
        } else if self.is_well_known() && !is_this_machine(&self.base_url) {
            "check the network".to_owned()
        } else {
            let url = redactor.redact(self.shown_url());
            format!("start the server at the base URL {url}, or set another one")
        };
        let message = format!("{}; {advice}", redactor.shorten(why));
        ModelError::Unreachable { url: redactor.redact(url), message, source }
    }

    /// The error for a response with this status. `redactor` removes the key, because some servers show the one that
    /// they refuse.
    pub(crate) fn redacted_status_error(
        &self,
        status: u16,
        retry_after: Option<Duration>,
        body: &str,
        redactor: &Redactor,
    ) -> ModelError {
        let json = parse_body(body);
        if let Some(refusal) = self.refusal_of_tools(status, (&json, body), redactor) {
            return refusal;
        }
        let is_wrong_server = match status {
            404 | 405 => !is_about_resource(&json),
            // A file server does not support POST. A server with this format would answer in JSON.
            501 => json.is_null(),
            _ => false,
        };
        if is_wrong_server {
            return self
                .wrong_server(&format!("{status}: {}", message_or_body(&json, body, redactor)), redactor);
        }
        self.refusal(status, retry_after, (&json, body), redactor)
    }

    /// The error if the server refuses the request because of its tools. Gateways do so with a 404 because they have
    /// no suitable model, and a server that was started without support for tools with a 500.
    fn refusal_of_tools(
        &self,
        status: u16,
        (json, body): (&Value, &str),
        redactor: &Redactor,
    ) -> Option<ModelError> {
        let is_refused = matches!(status, 400 | 404 | 422 | 500 | 501) && is_about_tools(json);
        let message = is_refused.then(|| message_or_body(json, body, redactor))?;
        Some(ModelError::ToolsRefused { provider: self.label(), status, message })
    }

    /// The error that a server with this format reports: as JSON, and as received.
    fn refusal(
        &self,
        status: u16,
        retry_after: Option<Duration>,
        (json, body): (&Value, &str),
        redactor: &Redactor,
    ) -> ModelError {
        let provider = self.label();
        let variable = self.key_variable.clone();
        let message = message_or_text(json, body, redactor);
        if let Some(refusal) = self.refusal_of_tools(status, (json, body), redactor) {
            return refusal;
        }
        match status {
            // The request would fail again, even if the status is that of a rate limit.
            400..500 if is_used_up(json) => {
                ModelError::Rejected { provider, status, message: message_or_body(json, body, redactor) }
            }
            400 | 413 | 422 | 500 if is_too_long(json, &message) => ModelError::WindowExceeded {
                provider,
                status,
                message: with_window(message_or_body(json, body, redactor), json),
            },
            401 => ModelError::Unauthorized { provider, status, variable, message },
            403 if is_about_the_key(json, &message) => {
                ModelError::Unauthorized { provider, status, variable, message }
            }
            // Gemini has no status of its own for a wrong key.
            400 if has_reason(json, "API_KEY_INVALID") => {
                ModelError::Unauthorized { provider, status, variable, message }
            }
            429 => {
                let retry_after = retry_after.or_else(|| retry_delay(json));
                ModelError::RateLimited { provider, message, retry_after }
            }
            500.. => ModelError::Server {
                provider,
                status,
                message: message_or_body(json, body, redactor),
                retry_after,
            },
            404 => {
                let message =
                    format!("{}; check the name of the model", message_or_body(json, body, redactor));
                ModelError::Rejected { provider, status, message }
            }
            _ => ModelError::Rejected { provider, status, message: message_or_body(json, body, redactor) },
        }
    }

    /// The error within an answer that began successfully.
    pub(crate) fn error_in_stream(&self, error: &Value, redactor: &Redactor) -> ModelError {
        let places = ["status", "code", "status_code", "type"];
        let code = places.iter().find_map(|name| status(error.get(name)?));
        let body = if error.is_null() { String::new() } else { error.to_string() };
        self.refusal(code.unwrap_or(500), None, (error, &body), redactor)
    }

    pub(crate) fn malformed(&self, message: impl AsRef<str>, redactor: &Redactor) -> ModelError {
        let message = redactor.shorten(message.as_ref());
        ModelError::Malformed { provider: self.label(), message, source: None }
    }

    /// The error if a server answers in another format; `answered` is what it sent.
    pub(crate) fn wrong_server(&self, answered: &str, redactor: &Redactor) -> ModelError {
        ModelError::WrongServer {
            provider: format!("{} at {}", self.name, redactor.redact(self.shown_url())),
            format: self.wire.format(),
            message: redactor.shorten(&page::page_text(answered)),
        }
    }
}

/// The JSON in the body of an error. Some servers send it as an event, because a stream was requested.
fn parse_body(body: &str) -> Value {
    if let Ok(json) = serde_json::from_str(body) {
        return json;
    }
    let mut frames = Frames::new(Framing::Events);
    let mut events = frames.push(body.as_bytes()).unwrap_or_default();
    events.extend(frames.end().ok().flatten());
    events.iter().find_map(|data| serde_json::from_str(data).ok()).unwrap_or_default()
}

/// Whether a 404 is about a model, or something else that the API knows by name, and not about the address.
fn is_about_resource(json: &Value) -> bool {
    const RESOURCES: [&str; 5] = ["model", "models", "modelnotfound", "model_not_found", "cachedcontent"];
    let names_it = |text: &str| {
        let text = text.to_lowercase();
        text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| RESOURCES.contains(&word))
    };
    message(json).is_some_and(names_it) || codes(json).any(names_it)
}

fn status(code: &Value) -> Option<u16> {
    let number = match code {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) => match text.as_str() {
            "rate_limit_exceeded"
            | "insufficient_quota"
            | "Throttling"
            | "rate_limit_error"
            | "RESOURCE_EXHAUSTED"
            | "throttlingException" => 429,
            "billing_error" => 402,
            "invalid_api_key" | "InvalidApiKey" | "authentication_error" | "UNAUTHENTICATED" => 401,
            "permission_error" | "PERMISSION_DENIED" => 403,
            "invalid_request_error"
            | "INVALID_ARGUMENT"
            | "context_length_exceeded"
            | "invalid_prompt"
            | "validationException" => 400,
            "not_found_error" | "NOT_FOUND" | "model_not_found" => 404,
            "request_too_large" => 413,
            "overloaded_error" => 529,
            "server_is_overloaded" | "UNAVAILABLE" | "serviceUnavailableException" => 503,
            "timeout_error" | "DEADLINE_EXCEEDED" => 504,
            text => text.parse().ok()?,
        },
        _ => return None,
    };
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// The text of an error: the provider's own words, or the body as it is.
fn message_or_body(json: &Value, body: &str, redactor: &Redactor) -> String {
    let message = redactor.shorten(&message(json).map_or_else(|| page::page_text(body), Cow::Borrowed));
    if message.is_empty() { "no further message".into() } else { message }
}

/// The provider's own words in the body of an error; empty if there are none.
fn message_or_text(json: &Value, body: &str, redactor: &Redactor) -> String {
    let text = if json.is_null() { page::page_text(body) } else { "".into() };
    redactor.shorten(message(json).unwrap_or(&text))
}

fn message(json: &Value) -> Option<&str> {
    // The last is that of servers that check with pydantic; the empty one is for an error that is only a text.
    let pointers =
        ["/error/message", "/0/error/message", "/message", "/error", "/detail", "", "/detail/0/msg"];
    pointers.into_iter().find_map(|pointer| json.pointer(pointer)?.as_str())
}

/// The codes by which programs can recognise the error.
fn codes(json: &Value) -> impl Iterator<Item = &str> {
    let places = ["/error", "/0/error", ""].into_iter().filter_map(|pointer| json.pointer(pointer));
    places
        .flat_map(|error| ["code", "type", "status"].map(|name| error.get(name)))
        .flatten()
        .filter_map(Value::as_str)
}

/// Whether a quota or a credit is used up until somebody pays.
fn is_used_up(json: &Value) -> bool {
    const CODES: [&str; 7] = [
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "insufficient_balance",
        "Arrearage",
        "AllocationQuota.FreeTierOnly",
    ];
    codes(json).any(|code| CODES.contains(&code))
}

/// Whether a request is refused because it has tools: by the name of the parameter if the error has a field for it,
/// otherwise by its words. A refusal because of a wrong schema does not count.
fn is_about_tools(json: &Value) -> bool {
    const PARAMETERS: [&str; 2] = ["tools", "tool_choice"];
    const CODES: [&str; 2] = ["unsupported_parameter", "unsupported_value"];
    const SUBJECTS: [&str; 8] = [
        "tools",
        "tool use",
        "tools param",
        "tool calling",
        "tool calls",
        "function calling",
        "function calls",
        "tool choice",
    ];
    // Compared after apostrophes were removed.
    const BEFORE: [&str; 4] = ["not support ", "nt support ", "not allow ", "not offer "];
    const BEHIND: [&str; 7] = [
        " is not supported",
        " are not supported",
        " not supported",
        " is not enabled",
        " is not available",
        " is unsupported",
        " requires --",
    ];
    let param = ["/error/param", "/param"].into_iter().find_map(|place| json.pointer(place)?.as_str());
    if param.is_some_and(|param| PARAMETERS.contains(&param)) && codes(json).any(|code| CODES.contains(&code))
    {
        return true;
    }
    let Some(message) = message(json) else { return false };
    let plain: String = message.to_lowercase().chars().filter(|c| !matches!(c, '"' | '\'' | '`')).collect();
    SUBJECTS.iter().any(|subject| {
        BEFORE.iter().any(|before| plain.contains(&format!("{before}{subject}")))
            || BEHIND.iter().any(|behind| plain.contains(&format!("{subject}{behind}")))
            || plain.contains(&format!("unsupported param: {subject}"))
            // A gateway reports that none of its models does.
            || plain.starts_with("no ") && plain.contains(&format!("that support {subject}"))
    })
}

/// Whether a request is refused because its conversation is too long. Some servers have a code for this, others only
/// words.
fn is_too_long(json: &Value, message: &str) -> bool {
    const CODES: [&str; 4] = [
        "context_length_exceeded",
        "exceed_context_size_error",
        "request_too_large",
        "model_max_prompt_tokens_exceeded",
    ];
    const WORDS: [&str; 12] = [
        "maximum context length",
        "context length exceeded",
        "context window",
        "context size",
        "prompt is too long",
        "input is too long",
        "range of input length",
        "maximum number of tokens allowed",
        "maximum prompt length",
        "context length of only",
        "too many tokens: ",
        "`inputs` ",
    ];
    let message = message.to_lowercase();
    codes(json).any(|code| CODES.contains(&code)) || WORDS.iter().any(|words| message.contains(words))
}

/// The words of a refusal with the window of the model. Not all versions of llama.cpp's server name it in words, but in a
/// field of its own.
fn with_window(message: String, json: &Value) -> String {
    let tokens = ["/error/n_ctx", "/n_ctx"].into_iter().find_map(|place| json.pointer(place)?.as_u64());
    match tokens.filter(|_| ModelError::window_in(&message).is_none()) {
        Some(tokens) => format!("{message} (n_ctx {tokens})"),
        None => message,
    }
}

/// Whether a 403 is about the key. It may also be about a country, a model, or a firewall.
fn is_about_the_key(json: &Value, message: &str) -> bool {
    const ABOUT: [&str; 5] = ["key", "apikey", "credential", "credentials", "unauthorized"];
    let names_it = |text: &str| {
        let text = text.to_lowercase();
        text.contains("authenticat")
            || text.split(|c: char| !c.is_alphanumeric()).any(|word| ABOUT.contains(&word))
    };
    let is_silent = message.is_empty() && codes(json).next().is_none();
    is_silent || has_reason(json, "API_KEY_INVALID") || names_it(message) || codes(json).any(names_it)
}

/// The details of an error in Google's format, if it has any.
fn details(json: &Value) -> impl Iterator<Item = &Value> {
    // A gateway that does not stream puts the error into a list.
    let error = json.pointer("/error/details").or_else(|| json.pointer("/0/error/details"));
    error.and_then(Value::as_array).into_iter().flatten()
}

fn has_reason(json: &Value, reason: &str) -> bool {
    details(json).any(|detail| detail.get("reason").is_some_and(|found| found == reason))
}

/// `"retryDelay": "34.5s"`
fn retry_delay(json: &Value) -> Option<Duration> {
    let delay = details(json).find_map(|detail| detail.get("retryDelay")?.as_str())?;
    seconds(delay.strip_suffix('s')?)
}

/// Reads seconds with decimals. Written by hand, because reading floats in general adds large tables to the wasm
/// module.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = part.bytes().chain(*b"000000000").take(9);
    let nanoseconds = digits.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    Some(Duration::new(whole.parse().ok()?, nanoseconds))
}

/// One line of at most a few hundred characters, without anything that a terminal would act on. Text of a server goes
/// through [`Redactor::shorten`] instead.
#[cfg(feature = "http")]
pub(crate) fn shorten(text: &str) -> String {
    cut(&one_line(text, MESSAGE_CHARS + 1))
}

/// At most this many characters of the text; control characters and runs of white space become single spaces.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut is_apart = false;
    let mut chars = 0;
    for c in text.chars() {
        if limit <= chars {
            break;
        }
        if c.is_whitespace() || c.is_control() {
            is_apart = !line.is_empty();
            continue;
        }
        if std::mem::take(&mut is_apart) {
            line.push(' ');
            chars += 1;
        }
        line.push(c);
        chars += 1;
    }
    line
}

/// Cuts a line that is too long.
pub(crate) fn cut(line: &str) -> String {
    match line.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
