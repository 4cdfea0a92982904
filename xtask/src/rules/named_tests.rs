//! Checks that tests exist if a page names them.

use super::test_functions::functions;
use super::text::File;
use super::violations::Violation;

/// Pages that say which test checks what, in the form `path: name`.
const PAGES: [&str; 3] = ["docs/code-index-rows.md", "docs/agent-rows.md", "docs/shadow-rows.md"];

pub(super) fn check(files: &[File]) -> Vec<Violation> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let mut violations = Vec::new();
    for page in PAGES {
        let Some(page_text) = text(page) else {
            violations.push(Violation::new(page, "is not there".to_owned()));
            continue;
        };
        for (path, name) in named(page_text) {
            match text(path) {
                None => violations.push(Violation::new(page, format!("{path} is not there"))),
                Some(source) if !is_test(source, name) => {
                    violations.push(Violation::new(page, format!("{path} has no test {name}")));
                }
                Some(_) => {}
            }
        }
    }
    violations
}

/// Whether a source has this test. In a file without the attribute `#[test]` all functions count, because its own
/// harness lists them as trials.
fn is_test(source: &str, name: &str) -> bool {
    let functions = functions(source);
    let has_tests = functions.iter().any(|function| function.is_test);
    functions.iter().any(|function| function.name == Some(name) && (function.is_test || !has_tests))
}

/// The paths and names of tests that are written between backticks.
fn named(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('`').skip(1).step_by(2).filter_map(|code| {
        let (file, name) = code.split_once(".rs: ")?;
        Some((&code[..file.len() + 3], name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_named_has_to_be_there() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let page = "| 1 | x | `a.rs: is_there`, `a.rs: is_gone` | `Budget: x` |\n| 2 | y | `b.rs: any`, `a.rs: helps` | |\n";
        let other = PAGES[1..].iter().map(|page| file(page, ""));
        let files = [file(PAGES[0], page), file("a.rs", "#[test]\nfn is_there() {}\nfn helps() {}\n")];
        let files: Vec<File> = files.into_iter().chain(other).collect();
        let violations: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            violations,
            [
                "docs/code-index-rows.md: a.rs has no test is_gone",
                "docs/code-index-rows.md: b.rs is not there",
                "docs/code-index-rows.md: a.rs has no test helps",
            ]
        );
        assert_eq!(check(&[]).len(), PAGES.len());
    }
}
