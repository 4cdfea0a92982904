use std::fmt;

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
    Violations(Vec<Violation>),
}

/// A rule that is broken, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The file or package, relative to the repository.
    pub(super) place: String,
    /// The problem, and how to solve it.
    pub(super) what: String,
}

impl Violation {
    pub(super) fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

fn lines(violations: &[Violation]) -> String {
    let lines: Vec<String> = violations.iter().map(|violation| format!("  {violation}")).collect();
    lines.join("\n")
}
