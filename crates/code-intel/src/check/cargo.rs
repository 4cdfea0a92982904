//! `cargo check --message-format=json`.

use serde::Deserialize;

use super::PathResolver;
use crate::{Diagnostic, Severity};

#[derive(Deserialize)]
struct Line {
    reason: String,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "message")]
    text: String,
    level: String,
    code: Option<Code>,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Child>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Child {
    message: String,
    level: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u32,
    column_start: u32,
    is_primary: bool,
    label: Option<String>,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

pub(super) fn read(stdout: &str, places: &PathResolver<'_>) -> Result<Vec<Diagnostic>, serde_json::Error> {
    let mut diagnostics = Vec::new();
    // Build scripts may print lines of their own.
    for line in stdout.lines().filter(|line| line.starts_with('{')) {
        let line: Line = serde_json::from_str(line)?;
        let Some(message) = line.message.filter(|_| line.reason == "compiler-message") else { continue };
        diagnostics.extend(diagnostic(&message, places));
    }
    Ok(diagnostics)
}

fn diagnostic(message: &Message, places: &PathResolver<'_>) -> Option<Diagnostic> {
    let severity = match message.level.as_str() {
        "error" | "error: internal compiler error" => Severity::Error,
        "warning" => Severity::Warning,
        _ => return None,
    };
    let primary = message.spans.iter().find(|span| span.is_primary)?;
    // A problem within a macro of another crate is reported where it is called.
    let (path, span) = chain(primary).find_map(|span| Some((places.path(&span.file_name)?, span)))?;
    let mut text = message.text.clone();
    if let Some(label) = &primary.label {
        text.push('\n');
        text.push_str(label);
    }
    for child in message.children.iter().filter(|child| child.level == "help" || child.level == "note") {
        if !child.message.starts_with("`#[") && !child.message.starts_with("`-") {
            text.push('\n');
            text.push_str(&child.message);
        }
    }
    Some(Diagnostic {
        path,
        line: span.line_start,
        column: span.column_start,
        severity,
        code: message.code.as_ref().map(|code| code.code.clone()),
        source: Some("rustc".to_owned()),
        message: text,
    })
}

/// A span, and those from which it was expanded.
fn chain(span: &Span) -> impl Iterator<Item = &Span> {
    std::iter::successors(Some(span), |span| span.expansion.as_ref().map(|expansion| &expansion.span))
}
