use headstart_overlay_fs::TreeError;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub(crate) code: String,
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_ms: Option<u64>,
}

impl Failure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), path: None, retry_after_ms: None }
    }
    pub(crate) fn input(path: impl Into<String>, message: impl AsRef<str>) -> Self {
        let path = path.into();
        Self::new("invalid_input", format!("{path}: {}", message.as_ref())).at(path)
    }
    pub(crate) fn at(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }
    pub(crate) fn to_json(&self) -> String {
        json(self)
    }
}

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("works because every map in what crosses has strings for keys")
}

impl From<Failure> for JsValue {
    fn from(failure: Failure) -> Self {
        Self::from_str(&failure.to_json())
    }
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        let (code, path) = match &error {
            TreeError::NotFound { path } => ("not_found", path),
            TreeError::NotADirectory { path } => ("not_a_directory", path),
            TreeError::IsADirectory { path } => ("is_a_directory", path),
            TreeError::AlreadyExists { path } => ("already_exists", path),
            TreeError::Escapes { path } => ("escapes", path),
            TreeError::Unsupported { path, .. } => ("unsupported", path),
            TreeError::Quota { path, .. } => ("quota", path),
            TreeError::Io { path, .. } => ("io", path),
            _ => return Self::new("io", error.to_string()),
        };
        Self::new(code, error.to_string()).at(path.to_string())
    }
}
