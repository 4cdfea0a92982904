use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;

/// A failure in the form in which it crosses to JavaScript and back. In JavaScript it is an `Error`, whose class
/// follows from the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// A stable code; the table of codes and classes is in `npm/src/errors.ts`.
    pub(crate) code: String,
    /// For people: what is wrong and what to do.
    pub(crate) message: String,
    /// The field of an input, or the path of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// After how many milliseconds a model may be asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_ms: Option<u64>,
    /// The HTTP status with which a model's server answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
}

impl Failure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            path: None,
            retry_after_ms: None,
            status: None,
        }
    }

    /// The failure for a field of an input that is not valid.
    pub(crate) fn input(path: impl Into<String>, message: impl AsRef<str>) -> Self {
        let path = path.into();
        let message = if path.is_empty() {
            message.as_ref().to_owned()
        } else {
            format!("{path}: {}", message.as_ref())
        };
        let failure = Self::new("invalid_input", message);
        if path.is_empty() { failure } else { failure.at(path) }
    }

    pub(crate) fn at(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    pub(crate) fn to_json(&self) -> String {
        json(self)
    }
}

/// A value as JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("works because every map in what crosses has strings for keys")
}

impl From<Failure> for JsValue {
    fn from(failure: Failure) -> Self {
        Self::from_str(&failure.to_json())
    }
}
