//! Paths as JavaScript has them.

use headstart_overlay_fs::{PathError, TreeError, WorkspacePath};

use crate::failure::Failure;

/// The path that a text of JavaScript names; an empty one is the root.
pub(crate) fn path(text: &str) -> Result<WorkspacePath, Failure> {
    if text.is_empty() {
        return Ok(WorkspacePath::root());
    }
    WorkspacePath::parse(text).map_err(|error| match error {
        PathError::Outside { .. } => Failure::new("escapes", error.to_string()).at(text),
        error => Failure::input("path", error.to_string()),
    })
}

/// The error for a name that is not Unicode, because JavaScript cannot have one.
pub(crate) fn unnamed(path: &WorkspacePath) -> TreeError {
    TreeError::Unsupported { path: path.clone(), reason: "a name there is not UTF-8".to_owned() }
}
