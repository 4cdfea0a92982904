//! `ruff check --output-format json`.

use serde::Deserialize;

use super::PathResolver;
use crate::{Diagnostic, Severity};

#[derive(Deserialize)]
struct Finding {
    filename: String,
    code: Option<String>,
    message: String,
    location: Location,
}

#[derive(Deserialize)]
struct Location {
    row: u32,
    column: u32,
}

pub(super) fn read(stdout: &str, places: &PathResolver<'_>) -> Result<Vec<Diagnostic>, serde_json::Error> {
    let found: Vec<Finding> = serde_json::from_str(stdout)?;
    let diagnostics = found.into_iter().filter_map(|found| {
        // As ruff's own server does: what cannot be parsed or is not defined is an error, everything else a warning.
        let code = found.code.as_deref().unwrap_or("invalid-syntax");
        let is_error = matches!(code, "invalid-syntax" | "E902" | "E999" | "F821");
        Some(Diagnostic {
            path: places.path(&found.filename)?,
            line: found.location.row,
            column: found.location.column,
            severity: if is_error { Severity::Error } else { Severity::Warning },
            code: found.code,
            source: Some("Ruff".to_owned()),
            message: found.message,
        })
    });
    Ok(diagnostics.collect())
}
