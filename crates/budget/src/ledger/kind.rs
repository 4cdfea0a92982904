use serde::{Deserialize, Serialize};

/// What a suggested prompt is about, as far as its words tell: users take some kinds more often than others, and some
/// kinds take longer. This is decided by English words; a prompt in another language is [`Kind::Other`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Kind {
    /// Run the tests, build, lint.
    Verify,
    /// Commit, push, open a pull request.
    Commit,
    /// Fix what is broken.
    Fix,
    /// Add, change, rename, document.
    Change,
    /// Show, explain, look.
    Explain,
    /// Go on, or yes.
    GoOn,
    /// Anything else.
    #[default]
    #[serde(other)]
    Other,
}

/// The words of each kind. The first word of a prompt that is in one of these lists decides, a yes only where nothing else
/// does.
const WORDS: [(Kind, &[&str]); 6] = [
    (
        Kind::Verify,
        &[
            "run",
            "rerun",
            "test",
            "check",
            "verify",
            "build",
            "compile",
            "lint",
            "format",
            "benchmark",
            "try",
        ],
    ),
    (Kind::Commit, &["commit", "push", "merge", "rebase", "release", "publish", "tag", "pr"]),
    (Kind::Fix, &["fix", "repair", "debug", "resolve", "solve", "correct", "handle", "address"]),
    (
        Kind::Change,
        &[
            "add",
            "write",
            "create",
            "implement",
            "make",
            "update",
            "change",
            "refactor",
            "rename",
            "move",
            "extract",
            "replace",
            "simplify",
            "document",
            "support",
            "convert",
            "use",
            "split",
            "port",
            "improve",
            "remove",
        ],
    ),
    (
        Kind::Explain,
        &["explain", "show", "describe", "summarize", "list", "what", "why", "how", "where", "find", "look"],
    ),
    (Kind::GoOn, &["yes", "ok", "okay", "continue", "proceed", "go", "next", "do", "apply"]),
];

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Verify, Self::Commit, Self::Fix, Self::Change, Self::Explain, Self::GoOn, Self::Other];

    /// The kind of a prompt.
    pub fn of(prompt: &str) -> Self {
        let lower = prompt.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric());
        let mut kinds = words.filter_map(|word| WORDS.iter().find(|(_, words)| words.contains(&word)));
        let first = kinds.next().map(|(kind, _)| *kind);
        match first {
            // What is agreed to says more than the yes.
            Some(Self::GoOn) => kinds.map(|(kind, _)| *kind).find(|kind| *kind != Self::GoOn).or(first),
            first => first,
        }
        .unwrap_or_default()
    }

    /// The name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Commit => "commit",
            Self::Fix => "fix",
            Self::Change => "change",
            Self::Explain => "explain",
            Self::GoOn => "goOn",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_that_says_something_decides() {
        let cases = [
            ("run the tests", Kind::Verify),
            ("please run the linter", Kind::Verify),
            ("Commit this.", Kind::Commit),
            ("now fix the failing test", Kind::Fix),
            ("add tests for top", Kind::Change),
            ("what does it do?", Kind::Explain),
            ("yes", Kind::GoOn),
            ("yes, commit it", Kind::Commit),
            ("ok go ahead and run the tests", Kind::Verify),
            ("ok, go on", Kind::GoOn),
            ("führe die Tests aus", Kind::Other),
            ("", Kind::Other),
        ];
        for (prompt, expected) in cases {
            assert_eq!(Kind::of(prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn the_name_is_that_of_the_json_and_a_kind_of_a_later_version_is_another() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(serde_json::from_str::<Kind>("\"sing\"").unwrap(), Kind::Other);
    }
}
