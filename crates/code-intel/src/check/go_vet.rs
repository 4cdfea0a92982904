//! `go vet -json`: one object for each package, with a comment before it, and lines for what does not compile.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::PathResolver;
use crate::{Diagnostic, Severity};

#[derive(Deserialize)]
struct Finding {
    posn: String,
    message: String,
}

/// What an analysis found, or why it could not run.
#[derive(Deserialize)]
#[serde(untagged)]
enum Analysis {
    Finding(Vec<Finding>),
    Failed(#[expect(dead_code, reason = "an analysis that failed found nothing")] serde_json::Value),
}

type Package = BTreeMap<String, BTreeMap<String, Analysis>>;

pub(super) fn read(stderr: &str, places: &PathResolver<'_>) -> Result<Vec<Diagnostic>, serde_json::Error> {
    let mut diagnostics = Vec::new();
    let mut object = String::new();
    for line in stderr.lines() {
        if object.is_empty() && line != "{" {
            let text = line.strip_prefix("vet: ").unwrap_or(line);
            diagnostics.extend(at_place(text, places, Severity::Error, "compile"));
            continue;
        }
        object.push_str(line);
        object.push('\n');
        if line == "}" {
            let package: Package = serde_json::from_str(&object)?;
            object.clear();
            for (name, analysis) in package.into_values().flatten() {
                let Analysis::Finding(found) = analysis else { continue };
                diagnostics.extend(found.iter().filter_map(|found| {
                    at_place(&format!("{}: {}", found.posn, found.message), places, Severity::Warning, &name)
                }));
            }
        }
    }
    if object.is_empty() {
        Ok(diagnostics)
    } else {
        serde_json::from_str::<Package>(&object).map(|_| diagnostics)
    }
}

/// `sub/a.go:3:28: what is wrong`
fn at_place(text: &str, places: &PathResolver<'_>, severity: Severity, code: &str) -> Option<Diagnostic> {
    let (place, message) = text.split_once(": ")?;
    let mut parts = place.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    Some(Diagnostic {
        path: places.path(parts.next()?)?,
        line,
        column,
        severity,
        code: Some(code.to_owned()),
        source: Some("go vet".to_owned()),
        message: message.to_owned(),
    })
}
