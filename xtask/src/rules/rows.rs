//! The tables that say for each row which tests check it. They are made from the marks beside the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::test_functions::{ROW_MARK, functions};
use super::text::{self, File};
use super::violations::{RuleError, Violation};

/// The pages with a table of rows. The columns are the number, the content, the tests, and what holds instead.
pub(super) const PAGES: [&str; 2] = ["docs/agent-rows.md", "docs/code-index-rows.md"];

/// Written in the column of tests if no test checks the row.
const NONE: &str = "–";

/// The number of rows for each letter. Each row is on at least one of the pages.
const ROWS: [(&str, usize); 2] = [("S", 125), ("X", 26)];

/// The tests of each row in the form of the tables, in the order of files and lines.
type TestsByRow = BTreeMap<String, Vec<String>>;

fn all_rows() -> BTreeSet<String> {
    ROWS.iter()
        .flat_map(|(letter, most)| (1..=*most).map(move |number| format!("{letter}{number}")))
        .collect()
}

/// Checks that each mark is above a test, and that each row exists, has a test or a reason, and names the same tests as
/// the marks.
pub(super) fn check(files: &[File]) -> Vec<Violation> {
    let (tests_by_row, mut violations) = tests_by_row(files);
    let mut missing = all_rows();
    for page in PAGES {
        let Some(File { text, .. }) = files.iter().find(|file| file.path == page) else {
            violations.push(Violation::new(page, "is not there"));
            continue;
        };
        let mut seen = BTreeSet::new();
        for row in text.lines().filter_map(Row::of) {
            missing.remove(row.id);
            if !seen.insert(row.id) {
                violations.push(Violation::new(page, format!("{} is there twice", row.id)));
            }
            let tests = row.tests(&tests_by_row);
            if tests == NONE && row.otherwise.is_empty() {
                violations.push(Violation::new(page, format!("{} has neither a test nor a reason", row.id)));
            }
            if tests != row.tests {
                let what = format!("{} is not what the tests say; run `cargo xtask rows`", row.id);
                violations.push(Violation::new(page, what));
            }
        }
    }
    violations
        .extend(missing.iter().map(|row| Violation::new(PAGES.join(", "), format!("{row} is missing"))));
    violations
}

/// Writes the names of the tests into the tables.
pub(crate) fn write(repository: &Path) -> Result<(), RuleError> {
    let files = text::files(repository)?;
    let (tests_by_row, violations) = tests_by_row(&files);
    if !violations.is_empty() {
        return Err(RuleError::Violations(violations));
    }
    for File { path, text } in files.iter().filter(|file| PAGES.contains(&file.path.as_str())) {
        let lines = text.lines().map(|line| match Row::of(line) {
            Some(row) => row.line(&row.tests(&tests_by_row)),
            None => line.to_owned(),
        });
        let written = lines.collect::<Vec<_>>().join("\n") + "\n";
        let failed = |source| RuleError::Read { path: path.clone(), source };
        fs::write(repository.join(path), written).map_err(failed)?;
    }
    Ok(())
}

fn tests_by_row(files: &[File]) -> (TestsByRow, Vec<Violation>) {
    let all = all_rows();
    let (mut tests_by_row, mut violations) = (TestsByRow::new(), Vec::new());
    let is_source = |file: &&File| Path::new(&file.path).extension().is_some_and(|ending| ending == "rs");
    for File { path, text } in files.iter().filter(is_source).filter(|file| file.text.contains(ROW_MARK)) {
        for function in functions(text) {
            for (line, row) in &function.rows {
                let problem = match function.name {
                    _ if !all.contains(*row) => format!("there is no row {row}"),
                    None => format!("{row} stands above no test"),
                    Some(name) if !function.is_test => format!("{name} is no test"),
                    Some(name) => {
                        tests_by_row.entry((*row).to_owned()).or_default().push(format!("`{path}: {name}`"));
                        continue;
                    }
                };
                violations.push(Violation::new(format!("{path}:{line}"), problem));
            }
        }
    }
    (tests_by_row, violations)
}

/// A line of a table.
struct Row<'a> {
    id: &'a str,
    what: &'a str,
    tests: &'a str,
    otherwise: &'a str,
}

impl<'a> Row<'a> {
    /// Reads a row. Any other line gives `None`.
    fn of(line: &'a str) -> Option<Self> {
        let cells: Vec<_> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let [id, what, tests, otherwise] = cells[..] else { return None };
        let is_row = ROWS
            .iter()
            .any(|(letter, _)| id.strip_prefix(letter).is_some_and(|number| number.parse::<usize>().is_ok()));
        is_row.then_some(Self { id, what, tests, otherwise })
    }

    fn tests(&self, tests_by_row: &TestsByRow) -> String {
        tests_by_row.get(self.id).map_or_else(|| NONE.to_owned(), |tests| tests.join(", "))
    }

    fn line(&self, tests: &str) -> String {
        format!("| {} | {} | {tests} | {} |", self.id, self.what, self.otherwise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: String) -> File {
        File { path: path.to_owned(), text }
    }

    fn violations(files: &[File]) -> Vec<String> {
        check(files).iter().map(ToString::to_string).collect()
    }

    /// Two pages with all rows. These lines are on the first page, and every other row has a reason instead of a test.
    fn pages(lines: &[&str]) -> Vec<File> {
        let named: Vec<_> = lines.iter().filter_map(|line| Row::of(line)).map(|row| row.id).collect();
        let others = all_rows().into_iter().filter(|id| !named.contains(&id.as_str()));
        let others: Vec<_> = others.map(|id| format!("| {id} | x | {NONE} | why |")).collect();
        vec![file(PAGES[0], lines.join("\n")), file(PAGES[1], others.join("\n"))]
    }

    #[test]
    fn a_row_is_what_the_tests_say() {
        let source =
            format!("{ROW_MARK}S1, X2\n#[test]\nfn one() {{}}\n{ROW_MARK}S1\n#[test]\nfn two() {{}}\n");
        let mut files = pages(&[
            "| S1 | x | `a.rs: one`, `a.rs: two` | |",
            "| X2 | x | `a.rs: one` | why |",
            "| | what | held by | otherwise |",
        ]);
        files.push(file("a.rs", source));
        assert_eq!(violations(&files), Vec::<String>::new());
        files.pop();
        assert_eq!(
            violations(&files),
            [
                "docs/agent-rows.md: S1 has neither a test nor a reason",
                "docs/agent-rows.md: S1 is not what the tests say; run `cargo xtask rows`",
                "docs/agent-rows.md: X2 is not what the tests say; run `cargo xtask rows`",
            ]
        );
    }

    #[test]
    fn a_row_that_is_missing_twice_there_or_empty_is_told() {
        let mut files = pages(&["| S1 | x | – | why |", "| S1 | x | – | why |", "| S2 | x | – | |"]);
        files[1].text = files[1].text.replace("| X26 |", "| X27 |");
        assert_eq!(
            violations(&files),
            [
                "docs/agent-rows.md: S1 is there twice",
                "docs/agent-rows.md: S2 has neither a test nor a reason",
                "docs/agent-rows.md, docs/code-index-rows.md: X26 is missing",
            ]
        );
        assert_eq!(check(&[]).len(), 2 + all_rows().len());
    }

    #[test]
    fn a_mark_stands_above_a_test_and_names_a_row() {
        let mut files = pages(&[]);
        let source = [("S1", "fn helper() {}\n"), ("S2", "\n"), ("S126", "#[test]\nfn one() {}\n")];
        let source = source.map(|(row, code)| format!("{ROW_MARK}{row}\n{code}"));
        files.push(file("a.rs", source.concat()));
        assert_eq!(
            violations(&files),
            ["a.rs:1: helper is no test", "a.rs:3: S2 stands above no test", "a.rs:5: there is no row S126"]
        );
    }
}
