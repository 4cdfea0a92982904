//! What the repository promises of itself, as checks: a broken rule is a failed test, not a reviewer's remark.

mod circles;
mod dependencies;
mod layout;
mod named_tests;
mod rows;
mod tests_of;
mod text;

use std::fmt;
use std::path::Path;

pub(crate) use dependencies::PURE_CRATES;
pub(crate) use rows::write as write_rows;

/// Why the rules could not be checked, or which of them are broken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RuleError {
    #[error("cargo metadata: {0}")]
    Metadata(#[from] cargo_metadata::Error),
    #[error("{0}")]
    Walk(#[from] ignore::Error),
    #[error("{path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("{path}: {source}")]
    Parse { path: String, source: syn::Error },
    #[error("{} broken rule(s):\n{}", .0.len(), lines(.0))]
    Broken(Vec<Broken>),
}

/// One rule that does not hold, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The file or package, relative to the repository.
    place: String,
    /// What is wrong and what to do.
    what: String,
}

impl Broken {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Checks every rule; the error lists all that are broken.
pub(crate) fn run(repository: &Path) -> Result<(), RuleError> {
    let packages = dependencies::workspace_packages(repository)?;
    let files = text::files(repository)?;
    let mut broken = dependencies::check(&packages);
    broken.extend(layout::check(repository, &packages)?);
    broken.extend(text::check(&files, &text::MachinePaths::of_this_machine(repository)));
    broken.extend(named_tests::check(&files));
    broken.extend(rows::check(&files));
    broken.extend(circles::check(&files, &packages)?);
    for warning in text::warnings(&files) {
        eprintln!("rules: {warning}");
    }
    if broken.is_empty() { Ok(()) } else { Err(RuleError::Broken(broken)) }
}

fn lines(broken: &[Broken]) -> String {
    let lines: Vec<String> = broken.iter().map(|broken| format!("  {broken}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    // Row: S1
    #[test]
    fn the_repository_keeps_its_rules() {
        if let Err(error) = super::run(&crate::repository()) {
            panic!("{error}");
        }
    }
}
