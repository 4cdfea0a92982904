use std::time::Duration;

use headstart_toolbox::{ContextItem, ItemUri, ToolOutput};
use reqwest::{Client, Url};
use serde_json::Value;

use super::html::text_of;
use crate::clean;
use crate::connection::client;
use crate::request_failure::RequestFailure;

/// Stands for the words of a search in an address or a body.
const QUERY: &str = "{query}";

const MAX_RESULTS: usize = 5;
/// The most characters of a result's text.
const MAX_CHARS: usize = 8_000;
/// The most bytes of an answer that are read.
const MAX_BYTES: usize = 2 * 1024 * 1024;
const TIME: Duration = Duration::from_secs(20);

/// A web search service, and where its answers contain what.
#[derive(Debug, Clone)]
pub struct SearchConfig {
    /// The address, with `{query}` in place of the words if they belong into it.
    pub url: String,
    /// The kind of request.
    pub request: SearchRequest,
    /// Headers, including that for the key.
    pub headers: Vec<(String, String)>,
    /// JSON pointer to the list of results.
    pub results: String,
    /// JSON pointer within a result, to its title.
    pub title: String,
    /// JSON pointer within a result, to its address.
    pub link: String,
    /// JSON pointer within a result, to its text.
    pub text: String,
}

/// The kind of request for a search.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchRequest {
    /// GET.
    Get,
    /// POST of this JSON, with `{query}` in place of the words in its texts.
    Post(Value),
}

/// Asks one service.
pub(super) struct Search {
    config: SearchConfig,
    client: Client,
}

impl Search {
    pub(super) fn new(config: SearchConfig) -> Result<Self, String> {
        Ok(Self { config, client: client()? })
    }

    /// The results for some words. The error says why there are none.
    pub(super) async fn ask(&self, query: &str) -> Result<ToolOutput, RequestFailure> {
        let late = |_| Err(format!("the search did not answer within {} s", TIME.as_secs()).into());
        let answer = tokio::time::timeout(TIME, self.answer(query)).await.unwrap_or_else(late)?;
        Ok(self.map_message(&answer)?)
    }

    async fn answer(&self, query: &str) -> Result<Value, RequestFailure> {
        let connection_failure = |error: reqwest::Error| {
            let error = error.without_url();
            RequestFailure::new(
                format!("the search is not answered: {}", clean(&error.to_string(), 300)),
                error,
            )
        };
        let url = address(&self.config.url, query)?;
        let request = match &self.config.request {
            SearchRequest::Get => self.client.get(url),
            SearchRequest::Post(body) => self.client.post(url).json(&filled(body, query)),
        };
        let named = self.config.headers.iter();
        let request = named.fold(request, |request, (name, value)| request.header(name, value));
        let mut answer = request.send().await.map_err(connection_failure)?;
        let status = answer.status();
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(connection_failure)? {
            if MAX_BYTES < body.len() + piece.len() {
                return Err(format!("the search answered more than {MAX_BYTES} bytes").into());
            }
            body.extend_from_slice(&piece);
        }
        if !status.is_success() {
            let said = clean(String::from_utf8_lossy(&body).trim(), 300);
            return Err(format!(
                "the search answered {status}{}{said}",
                if said.is_empty() { "" } else { ": " }
            )
            .into());
        }
        serde_json::from_slice(&body)
            .map_err(|error| RequestFailure::new("the search answered no JSON".to_owned(), error))
    }

    fn map_message(&self, answer: &Value) -> Result<ToolOutput, String> {
        let pointer = &self.config.results;
        let results = answer.pointer(pointer).ok_or_else(|| {
            format!(
                "the search answered nothing at {pointer:?}, where `results` in [web] says that the list is"
            )
        })?;
        let results = results.as_array().ok_or_else(|| {
            format!("the search answered no list at {pointer:?}, which `results` in [web] names")
        })?;
        let told: Vec<_> = results.iter().take(MAX_RESULTS).map(|result| self.result(result)).collect();
        if told.is_empty() {
            return Ok(ToolOutput::Text("[nothing was found]".to_owned()));
        }
        Ok(ToolOutput::of(told))
    }

    fn result(&self, result: &Value) -> ContextItem {
        let text = |pointer: &str| match result.pointer(pointer) {
            Some(Value::String(text)) => plain(text),
            // Some services give a text as several pieces.
            Some(Value::Array(pieces)) => {
                let pieces = pieces.iter().filter_map(Value::as_str).map(plain);
                pieces.collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        };
        let short = |pointer: &str, most| clean(&text(pointer).replace('\n', " "), most);
        let (title, link, body) =
            (short(&self.config.title, 300), short(&self.config.link, 2_000), text(&self.config.text));
        let shown: String = body.chars().take(MAX_CHARS).collect();
        let cut = if shown.len() < body.len() { "\n[cut]" } else { "" };
        let content = format!("{title}\n{link}\n{}{cut}", shown.trim()).trim_end().to_owned();
        let uri = Some(ItemUri::Url(link.clone()));
        ContextItem { name: title, description: link, content, uri, ..ContextItem::default() }
    }
}

/// A text of a result without control characters, and without the HTML markup that some services put into it.
fn plain(text: &str) -> String {
    let text = if text.contains("</") { text_of(text) } else { text.to_owned() };
    clean(&text, usize::MAX)
}

/// The address of a search. The words are encoded so that they cannot end a part of it.
fn address(template: &str, query: &str) -> Result<Url, String> {
    let words: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
    // In a path `+` does not stand for a space, while `%20` does everywhere.
    let text = template.replace(QUERY, &words.replace('+', "%20"));
    Url::parse(&text).map_err(|error| format!("`url` in [web] is no address: {error}"))
}

fn filled(body: &Value, query: &str) -> Value {
    match body {
        Value::String(text) => Value::String(text.replace(QUERY, query)),
        Value::Array(list) => list.iter().map(|value| filled(value, query)).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), filled(value, query))).collect())
        }
        other => other.clone(),
    }
}
