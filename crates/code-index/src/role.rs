//! What a file is for, judging by its path: a question about behaviour is answered by source.

use headstart_overlay_fs::WorkspacePath;

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// All that is nothing else.
    Source,
    /// It tests other files.
    Test,
    /// It explains, to people.
    Text,
    /// It shows how the rest is used.
    Example,
    /// A program wrote it, it came from elsewhere, or it holds the project's words in another language.
    Made,
}

/// Folders, and what is in them.
const FOLDERS: [(&str, Role); 33] = [
    ("test", Role::Test),
    ("tests", Role::Test),
    ("testing", Role::Test),
    ("testdata", Role::Test),
    ("__tests__", Role::Test),
    ("spec", Role::Test),
    ("specs", Role::Test),
    ("e2e", Role::Test),
    ("fixtures", Role::Test),
    ("__snapshots__", Role::Test),
    ("snapshots", Role::Test),
    ("mocks", Role::Test),
    ("__mocks__", Role::Test),
    ("docs", Role::Text),
    ("doc", Role::Text),
    ("documentation", Role::Text),
    ("examples", Role::Example),
    ("example", Role::Example),
    ("_examples", Role::Example),
    ("samples", Role::Example),
    ("demo", Role::Example),
    ("demos", Role::Example),
    ("tutorial", Role::Example),
    ("bench", Role::Example),
    ("benches", Role::Example),
    ("benchmarks", Role::Example),
    ("vendor", Role::Made),
    ("third_party", Role::Made),
    ("generated", Role::Made),
    ("locale", Role::Made),
    ("locales", Role::Made),
    ("i18n", Role::Made),
    ("translations", Role::Made),
];

/// What the end of a name says of a file.
const ENDINGS: [(&str, Role); 18] = [
    (".po", Role::Made),
    (".pot", Role::Made),
    (".xlf", Role::Made),
    (".xliff", Role::Made),
    (".arb", Role::Made),
    (".snap", Role::Test),
    (".lock", Role::Made),
    (".pb.go", Role::Made),
    ("_pb2.py", Role::Made),
    ("_pb2_grpc.py", Role::Made),
    (".g.dart", Role::Made),
    (".designer.cs", Role::Made),
    (".generated.cs", Role::Made),
    (".md", Role::Text),
    (".mdx", Role::Text),
    (".rst", Role::Text),
    (".adoc", Role::Text),
    (".txt", Role::Text),
];

impl Role {
    /// Decides by the path alone.
    pub(crate) fn of(path: &WorkspacePath) -> Self {
        let text = String::from_utf8_lossy(path.as_bytes());
        let (folders, name) = text.rsplit_once('/').unwrap_or(("", &text));
        let in_folder = folders.split('/').rev().find_map(|folder| {
            FOLDERS.iter().find(|(known, _)| folder.eq_ignore_ascii_case(known)).map(|(_, role)| *role)
        });
        let lower = name.to_ascii_lowercase();
        let ends = ENDINGS.iter().find(|(ending, _)| lower.ends_with(ending)).map(|(_, role)| *role);
        if ends == Some(Self::Made) || in_folder == Some(Self::Made) {
            return Self::Made;
        }
        if is_test(name, &lower) {
            return Self::Test;
        }
        let of_folder = in_folder.filter(|role| *role != Self::Text || ends.is_some());
        of_folder.or(ends).unwrap_or(Self::Source)
    }
}

/// `test_login.py`, `login_test.go`, `login.test.ts`, `LoginTests.swift`, `conftest.py`.
fn is_test(name: &str, lower: &str) -> bool {
    let stem = lower.split('.').next().unwrap_or_default();
    let starts = ["test_", "tests_", "spec_"].iter().any(|start| stem.starts_with(start));
    let ends = ["_test", "_tests", "_spec", "-test", "-spec"].iter().any(|end| stem.ends_with(end));
    let within = [".test.", ".tests.", ".spec."].iter().any(|part| lower.contains(part));
    let capital = name.split('.').next().unwrap_or_default();
    let camel = ["Test", "Tests", "Spec", "TestCase", "IT"].iter().any(|end| {
        capital.strip_suffix(end).is_some_and(|rest| rest.ends_with(|sign: char| sign.is_lowercase()))
    });
    starts || ends || within || camel || matches!(stem, "test" | "tests" | "conftest" | "test_helpers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_what_a_file_is_for() {
        let cases = [
            ("src/login.rs", Role::Source),
            ("src/flask/testing.py", Role::Source),
            ("src/latest.rs", Role::Source),
            ("docs/conf.py", Role::Source),
            ("latest/Contest.java", Role::Source),
            ("tree_test.go", Role::Test),
            ("tests/test_cli.py", Role::Test),
            ("src/login.test.ts", Role::Test),
            ("src/test/java/GsonTest.java", Role::Test),
            ("web/LoginTests.swift", Role::Test),
            ("README.md", Role::Text),
            ("docs/api.rst", Role::Text),
            ("_examples/rest/main.go", Role::Example),
            ("locale/de/app.po", Role::Made),
            ("src/api.pb.go", Role::Made),
            ("third_party/zlib/inflate.c", Role::Made),
            ("CHANGELOG.md", Role::Text),
        ];
        for (path, role) in cases {
            assert_eq!(Role::of(&WorkspacePath::parse(path).unwrap()), role, "{path}");
        }
    }
}
