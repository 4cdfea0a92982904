//! `tsc --noEmit --pretty false`.

use super::PathResolver;
use crate::{Diagnostic, Severity};

/// Lines that are no diagnostics are skipped: tsc also prints how many there are.
pub(super) fn read(stdout: &str, places: &PathResolver<'_>) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut open = false;
    for line in stdout.lines() {
        if line.starts_with(' ') {
            // The line continues the message above.
            if let Some(last) = diagnostics.last_mut().filter(|_| open) {
                last.message.push('\n');
                last.message.push_str(line.trim_end());
            }
            continue;
        }
        let read = diagnostic(line, places);
        open = read.is_some();
        diagnostics.extend(read);
    }
    diagnostics
}

/// `src/a.ts(4,29): error TS2304: Cannot find name 'b'.` A file's name may contain parentheses itself.
fn diagnostic(line: &str, places: &PathResolver<'_>) -> Option<Diagnostic> {
    let (place, rest) = line
        .match_indices("): ")
        .map(|(at, _)| (&line[..at], &line[at + 3..]))
        .find(|(_, rest)| rest.starts_with("error ") || rest.starts_with("warning "))?;
    let (name, numbers) = place.rsplit_once('(')?;
    let (number, column) = numbers.split_once(',')?;
    let (kind, rest) = rest.split_once(' ')?;
    let (code, message) = rest.split_once(": ")?;
    Some(Diagnostic {
        path: places.path(name)?,
        line: number.parse().ok()?,
        column: column.parse().ok()?,
        severity: Severity::from_name(kind)?,
        code: Some(code.to_owned()),
        source: Some("typescript".to_owned()),
        message: message.to_owned(),
    })
}
