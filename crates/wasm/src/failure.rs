use headstart_overlay_fs::TreeError;
use serde_json::json;
use wasm_bindgen::JsValue;

/// What goes wrong, as it crosses to JavaScript: a JSON text `{"code", "message", "path"?}`.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) path: Option<String>,
}

impl Failure {
    /// The caller's fault: which field it is, and what is wrong with it.
    pub(crate) fn invalid(field: &str, message: &str) -> Self {
        let message = format!("{field}: {message}");
        Self { code: "invalid_input", message, path: Some(field.to_owned()) }
    }
}

impl From<Failure> for JsValue {
    fn from(failure: Failure) -> Self {
        let Failure { code, message, path } = failure;
        let mut text = json!({ "code": code, "message": message });
        if let Some(path) = path {
            text["path"] = path.into();
        }
        text.to_string().into()
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
            _ => return Self { code: "io", message: error.to_string(), path: None },
        };
        let path = Some(path.as_str().map_or_else(|| path.to_string(), str::to_owned));
        Self { code, message: error.to_string(), path }
    }
}
