use std::time::Duration;

use headstart_forked_query::{ModelError, ModelEvent};
use headstart_providers::{Decoder, KeyHeader, KeyRequirement, Provider, Wire};
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::exchange::{event_to_json, request_from_json};
use crate::failure::{Failure, json};

/// A provider's wire format. It holds no key: the key is passed to each call that needs it.
#[wasm_bindgen]
pub struct WireHandle {
    provider: Provider,
    /// The parameters that the server refused, so that requests leave them out.
    refused: Vec<&'static str>,
}

/// A request to send, without what JavaScript already has: the beginning of the URL and the key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestFields {
    path: String,
    query: Option<&'static str>,
    headers: Vec<(&'static str, &'static str)>,
    /// The name of the header for the key, and the text before the key in it.
    key_header: (&'static str, &'static str),
    body: String,
}

/// The part of a provider that JavaScript has to know.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProviderFields<'a> {
    base_url: &'a str,
    /// Endings that people copy along with a base URL.
    endings: &'static [&'static str],
    accept: &'static str,
    /// Whether requests without a key are refused anyway.
    needs_key: bool,
}

#[wasm_bindgen]
impl WireHandle {
    /// The provider with this name, at its own address or another one.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, base_url: Option<String>) -> Result<Self, Failure> {
        let preset = Provider::preset(name).ok_or_else(|| {
            let names = "anthropic, dashscope, gemini, ollama, openai or responses";
            Failure::input("provider", format!("must be {names}, and is {name:?}"))
        })?;
        let provider = match base_url {
            Some(url) => preset.served_at(&url),
            None => preset,
        };
        // JavaScript has no environment variables, so the message names the option.
        Ok(Self::from(Provider { key_variable: "the option `key`".to_owned(), ..provider }))
    }

    /// What JavaScript has to know of the provider, as JSON.
    pub fn describe(&self) -> String {
        let Provider { base_url, wire, key, .. } = &self.provider;
        let (endings, accept) = (wire.base_url_endings(), wire.accept());
        json(&ProviderFields { base_url, endings, accept, needs_key: *key == KeyRequirement::Required })
    }

    /// The same provider at an address that was checked.
    pub fn at(&self, base_url: String) -> Self {
        Self::from(Provider { base_url, ..self.provider.clone() })
    }

    /// The same format without the parameter that the server refuses in an answer with this status. Nothing if the
    /// server refuses something else, or something that cannot be left out: such a request is not repeated.
    pub fn learn(&self, status: u16, body: &str) -> Option<WireHandle> {
        let mut refused = self.refused.clone();
        let is_learned = self.provider.wire.add_refused_parameter(&mut refused, status, body);
        is_learned.then(|| Self { provider: self.provider.clone(), refused })
    }

    /// A request, as JSON.
    pub fn encode(&self, request: &str) -> Result<String, Failure> {
        let request = request_from_json(request)?;
        let wire = self.wire();
        let mut headers = vec![("content-type", "application/json"), ("accept", wire.accept())];
        headers.extend(wire.headers());
        let key_header = match wire.key_header() {
            KeyHeader::Bearer => ("authorization", "Bearer "),
            KeyHeader::Named(name) => (name, ""),
        };
        let body = String::from_utf8(wire.encode(&request)).expect("works because it is JSON");
        Ok(json(&RequestFields {
            path: wire.path(&request.model),
            query: wire.query(),
            headers,
            key_header,
            body,
        }))
    }

    /// A decoder for the answer to `request`; no error will contain `key`.
    pub fn decoder(&self, request: &str, key: &str) -> Result<DecoderHandle, Failure> {
        let decoder = Decoder::new(&self.provider, &request_from_json(request)?).with_hidden_key(key);
        Ok(DecoderHandle { decoder, failed: None })
    }

    /// The failure in an answer with this status.
    pub fn refused(&self, status: u16, retry_after_ms: Option<f64>, body: &str, key: &str) -> String {
        let wait = retry_after_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
        failure_json(self.provider.status_error(status, wait, body, key))
    }

    /// The failure if something other than the provider answers.
    pub fn stranger(&self, answered: &str, key: &str) -> String {
        failure_json(self.provider.wrong_server_error(answered, key))
    }

    /// The failure if nothing answers.
    pub fn unreachable(&self, url: &str, why: &str, key: &str) -> String {
        failure_json(self.provider.unreachable_error(url, why, key))
    }

    /// The failure if nothing came for this long.
    pub fn silent(&self, ms: u32) -> String {
        failure_json(ModelError::Timeout {
            provider: self.provider.label(),
            after: Duration::from_millis(ms.into()),
        })
    }

    /// The failure of a host that has not set up the provider.
    pub fn misconfigured(&self, message: String) -> String {
        failure_json(ModelError::Misconfigured {
            provider: self.provider.name.clone(),
            message,
            source: None,
        })
    }
}

impl WireHandle {
    fn wire(&self) -> Wire {
        self.provider.wire.without_parameters(&self.refused)
    }
}

impl From<Provider> for WireHandle {
    fn from(provider: Provider) -> Self {
        Self { provider, refused: Vec::new() }
    }
}

fn failure_json(error: ModelError) -> String {
    Failure::from(error).to_json()
}

/// An answer that is being received.
#[wasm_bindgen]
pub struct DecoderHandle {
    decoder: Decoder,
    /// The failure, which is told after the events before it.
    failed: Option<Failure>,
}

#[wasm_bindgen]
impl DecoderHandle {
    /// Decodes an answer that comes as one JSON document.
    pub fn unstreamed(self) -> Self {
        Self { decoder: self.decoder.unstreamed(), failed: None }
    }

    /// The events in the next bytes, as a JSON text. If something goes wrong after them, `failure` has it.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let events = self.decoder.bytes(bytes);
        self.events_json(events)
    }

    /// The events at the end of the stream.
    pub fn end(&mut self) -> String {
        let events = self.decoder.end();
        self.events_json(events)
    }

    /// What went wrong; it is returned once.
    pub fn failure(&mut self) -> Option<String> {
        self.failed.take().map(|failure| failure.to_json())
    }

    /// Whether nothing more can come.
    #[wasm_bindgen(getter, js_name = isClosed)]
    pub fn is_closed(&self) -> bool {
        self.decoder.is_closed()
    }

    /// Whether everything that matters has come.
    #[wasm_bindgen(getter, js_name = isComplete)]
    pub fn is_complete(&self) -> bool {
        self.decoder.is_complete()
    }

    /// How often the answer grew.
    #[wasm_bindgen(getter)]
    pub fn steps(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "an answer is shorter than that")]
        let steps = self.decoder.steps() as f64;
        steps
    }

    fn events_json(&mut self, events: Vec<Result<ModelEvent, ModelError>>) -> String {
        let mut text = String::from("[");
        for event in events {
            match event.map(event_to_json) {
                Ok(Some(event)) => {
                    text.push_str(if text.len() == 1 { "" } else { "," });
                    text.push_str(&event);
                }
                Ok(None) => {}
                Err(error) => self.failed = Some(error.into()),
            }
        }
        text.push(']');
        text
    }
}
