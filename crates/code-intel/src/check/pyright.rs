//! `pyright --outputjson`.

use serde::Deserialize;

use super::PathResolver;
use crate::{Diagnostic, Severity};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    general_diagnostics: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    file: String,
    severity: String,
    message: String,
    range: Option<Range>,
    rule: Option<String>,
}

#[derive(Deserialize)]
struct Range {
    start: Start,
}

#[derive(Deserialize)]
struct Start {
    line: u32,
    character: u32,
}

pub(super) fn read(stdout: &str, places: &PathResolver<'_>) -> Result<Vec<Diagnostic>, serde_json::Error> {
    // Notes about versions and updates come first.
    let start = stdout.find('{').unwrap_or(0);
    let report: Report = serde_json::from_str(&stdout[start..])?;
    let diagnostics = report.general_diagnostics.into_iter().filter_map(|found| {
        let (line, column) = found.range.map_or((0, 0), |range| (range.start.line, range.start.character));
        Some(Diagnostic {
            path: places.path(&found.file)?,
            line: line.saturating_add(1),
            column: column.saturating_add(1),
            severity: Severity::from_name(&found.severity)?,
            code: found.rule,
            source: Some("Pyright".to_owned()),
            message: found.message,
        })
    });
    Ok(diagnostics.collect())
}
