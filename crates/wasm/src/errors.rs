//! The codes of errors in the crates that run ahead.

use headstart_forked_query::ModelError;
use headstart_overlay_fs::TreeError;
use headstart_speculation::{AcceptError, StartError};
use headstart_workspace_path::PathError;

use crate::failure::Failure;

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

/// The failure for a path that a caller gave.
impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self::input("path", error.to_string())
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let failure = Self::new(error.code(), error.to_string());
        let retry_after_ms = error.retry_after_ms();
        let status = match error {
            ModelError::RateLimited { .. } => Some(429),
            ModelError::Unauthorized { status, .. }
            | ModelError::Rejected { status, .. }
            | ModelError::WindowExceeded { status, .. }
            | ModelError::ToolsRefused { status, .. }
            | ModelError::Server { status, .. } => Some(status),
            _ => None,
        };
        Self { retry_after_ms, status, ..failure }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let code = if matches!(error, StartError::Command { .. }) { "command" } else { "empty" };
        Self::new(code, error.to_string())
    }
}

impl From<AcceptError> for Failure {
    fn from(error: AcceptError) -> Self {
        let code = match error {
            AcceptError::Tree(error) => return error.into(),
            AcceptError::AlreadyAccepted { .. } => "taken",
            AcceptError::BaseNotAccepted { .. } => "not_yet",
            _ => "damaged",
        };
        Self::new(code, error.to_string())
    }
}
