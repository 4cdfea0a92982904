//! Checks that files stay short and contain no paths that exist on one machine only.

use std::path::Path;

use ignore::WalkBuilder;

use super::violations::{RuleError, Violation};

const README_LINES: usize = 90;
const COMFORTABLE_LINES: usize = 300;
const MAX_LINES: usize = 600;
const SOURCE_ENDINGS: [&str; 5] = [".rs", ".ts", ".js", ".mjs", ".sh"];

/// A text file of the repository.
pub(super) struct File {
    /// Its path, relative to the repository, with `/` as separator.
    pub(super) path: String,
    pub(super) text: String,
}

/// Paths of the machine that runs this check. They can get into a repository with a pasted log or a snapshot.
pub(super) struct MachinePaths(Vec<String>);

impl MachinePaths {
    pub(super) fn of_this_machine(repository: &Path) -> Self {
        let variables = ["CARGO_HOME", "RUSTUP_HOME", "CARGO_TARGET_DIR"];
        let folders = variables.iter().filter_map(std::env::var_os).map(std::path::PathBuf::from);
        let home =
            std::env::home_dir().into_iter().flat_map(|home| [home.join(".cargo"), home.join(".rustup")]);
        let mut paths: Vec<String> = folders
            .chain(home)
            .chain([repository.to_owned()])
            .map(|path| path.display().to_string())
            .collect();
        // A folder right below the root, such as `/src` or `/work`, can exist on any machine.
        paths.retain(|path| path.starts_with('/') && 1 < path.matches('/').count());
        Self(paths)
    }
}

/// The text files of the repository, except those that .gitignore excludes.
pub(super) fn files(repository: &Path) -> Result<Vec<File>, RuleError> {
    let mut files = Vec::new();
    let walk = WalkBuilder::new(repository)
        .hidden(false)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    for entry in walk {
        let entry = entry?;
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path().strip_prefix(repository).unwrap_or(entry.path()).display().to_string();
        let bytes =
            std::fs::read(entry.path()).map_err(|source| RuleError::Read { path: path.clone(), source })?;
        // A file that is not UTF-8 is a binary fixture, to which none of the rules applies.
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(File { path, text });
        }
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(files)
}

pub(super) fn check(files: &[File], machine: &MachinePaths) -> Vec<Violation> {
    let mut violations = Vec::new();
    for File { path, text } in files {
        let lines = text.lines().count();
        if path == "README.md" && README_LINES < lines {
            violations.push(Violation::new(
                path,
                format!("{lines} lines; at most {README_LINES}, the rest belongs in docs/"),
            ));
        }
        if is_source(path) && MAX_LINES < lines {
            violations
                .push(Violation::new(path, format!("{lines} lines; split it, {MAX_LINES} is the most")));
        }
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(found) = machine.0.iter().find(|machine| names_path(line, machine)) {
                violations.push(Violation::new(
                    format!("{path}:{number}"),
                    format!("names {found}, which only this machine has"),
                ));
            }
        }
    }
    violations
}

/// Source files that are longer than is comfortable.
pub(super) fn warnings(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|file| is_source(&file.path))
        .map(|file| (&file.path, file.text.lines().count()))
        .filter(|(_, lines)| COMFORTABLE_LINES < *lines)
        .map(|(path, lines)| {
            format!("{path} has {lines} lines; think of splitting it from {COMFORTABLE_LINES} on")
        })
        .collect()
}

fn is_source(path: &str) -> bool {
    SOURCE_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// Whether `line` contains `path` or a path below it, and not only a longer name with the same beginning.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(start, _)| {
        let next = line[start + path.len()..].chars().next();
        !next.is_some_and(|next| next.is_alphanumeric() || next == '-' || next == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(path: &str, text: &str) -> Vec<String> {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        let machine = MachinePaths(vec!["/home/ada/headstart".to_owned()]);
        check(&[file], &machine).into_iter().map(|violation| violation.place).collect()
    }

    #[test]
    fn lengths_are_limited() {
        assert!(violations("README.md", &"line\n".repeat(90)).is_empty());
        assert_eq!(violations("README.md", &"line\n".repeat(91)), ["README.md"]);
        assert!(violations("crates/a/src/lib.rs", &"line\n".repeat(600)).is_empty());
        assert_eq!(violations("crates/a/src/lib.rs", &"line\n".repeat(601)), ["crates/a/src/lib.rs"]);
        assert!(violations("Cargo.lock", &"line\n".repeat(5_000)).is_empty());
    }

    #[test]
    fn long_files_are_named_before_they_are_too_long() {
        let file = |lines| File { path: "a.rs".to_owned(), text: "line\n".repeat(lines) };
        assert!(warnings(&[file(300)]).is_empty());
        assert!(warnings(&[file(301)])[0].starts_with("a.rs has 301 lines"));
    }

    #[test]
    fn a_path_of_this_machine_is_found() {
        let cases = [
            ("at /home/ada/headstart/src/lib.rs:3", true),
            ("cd /home/ada/headstart", true),
            ("(/home/ada/headstart)", true),
            ("/home/ada/headstarts/src", false),
            ("/home/ada/project/src", false),
        ];
        for (line, named) in cases {
            assert_eq!(!violations("docs/log.md", line).is_empty(), named, "{line}");
        }
    }

    #[test]
    fn a_folder_below_the_root_is_no_machine_path() {
        let paths = MachinePaths::of_this_machine(Path::new("/src")).0;
        assert!(!paths.contains(&"/src".to_owned()));
        assert!(
            MachinePaths::of_this_machine(Path::new("/home/ada/p")).0.contains(&"/home/ada/p".to_owned())
        );
    }
}
