//! The project's own check of work that the model calls done.

use std::time::Duration;

use headstart_toolbox::FinalLook;
use serde::{Deserialize, Serialize};

/// How many characters of a check's output go back to the model: the last ones, because the errors are summed up there.
const MAX_REPORTED: usize = 6_000;

/// Who checks completed work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checker {
    /// A command of the project.
    Command(Check),
    /// The language servers for the files that changed, because no command is known.
    Servers,
}

/// A command that says whether a project's files are in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The command line, for `bash -c`.
    pub line: String,
    /// How long it may take; a check that takes longer has no result.
    pub time: Duration,
}

/// The result of a check of completed work: of a command, or of a language server where the project has no check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// The command line, or the name of the server.
    pub command: String,
    /// Whether it found nothing wrong.
    pub passed: bool,
    /// Why it says nothing about the files: it could not run where the work is, or did not come to its end. Then
    /// nobody knows whether they are in order, and `passed` is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// How many tests passed and failed, if the output says so in a form that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<String>,
    /// How long it took.
    pub millis: u64,
}

impl CheckResult {
    /// The result in a few words: `42 passed`, `cargo check passes`, `tsc --noEmit fails`, `cargo check did not run`.
    pub fn words(&self) -> String {
        match (&self.not_run, &self.tests, self.passed) {
            (Some(_), ..) => format!("{} did not run", self.command),
            (None, Some(tests), _) => tests.clone(),
            (None, None, true) => format!("{} passes", self.command),
            (None, None, false) => format!("{} fails", self.command),
        }
    }

    /// Whether it ran and found something wrong.
    pub fn failed(&self) -> bool {
        !self.passed && self.not_run.is_none()
    }

    /// The result of a look at all that is staged, and what the model reads of it if there are new errors.
    pub(crate) fn of_look(look: FinalLook, millis: u64) -> (Self, Option<String>) {
        let FinalLook { by, new_errors } = look;
        let (errors, not_run) = match new_errors {
            Ok(errors) => (errors, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let report = (!errors.is_empty()).then(|| failure_report(&by, &errors.join("\n")));
        let passed = errors.is_empty() && not_run.is_none();
        (Self { command: by, passed, not_run, tests: None, millis }, report)
    }

    pub(crate) fn not_run(check: &Check, why: String) -> Self {
        Self { command: check.line.clone(), passed: false, not_run: Some(why), tests: None, millis: 0 }
    }
}

/// The words of a program about the place where it ran, from what it printed: the last line, or how it ended.
pub(crate) fn last_words(exit_code: Option<i32>, output: &str) -> String {
    const MOST: usize = 200;
    let last = output.lines().map(str::trim).rfind(|line| !line.is_empty());
    match (last, exit_code) {
        (Some(line), _) => line.chars().take(MOST).collect(),
        (None, Some(code)) => format!("it exited with {code}"),
        (None, None) => "a signal ended it".to_owned(),
    }
}

/// Whether a check that ended like this says something about the files, and not about the place where it ran, for
/// example that a program is missing. Whether it needed a network is known from the runner
/// ([`ViewRefusals::network`](headstart_toolbox::ViewRefusals::network)).
pub(crate) fn is_about_files(exit_code: Option<i32>, output: &str) -> bool {
    const ENVIRONMENT_ERRORS: [&str; 6] = [
        "cannot find module providing package",
        "no required module provides package",
        "No module named pytest",
        "error: no such command",
        "No space left on device",
        "Read-only file system",
    ];
    // The shell's own exit codes for a program that is missing or cannot run, and those for signals.
    let by_the_shell = exit_code.is_none_or(|code| (126..=127).contains(&code) || 128 < code);
    exit_code == Some(0) || !by_the_shell && !ENVIRONMENT_ERRORS.iter().any(|words| output.contains(words))
}

/// What the model reads of a check that failed.
pub(crate) fn failure_report(command: &str, output: &str) -> String {
    let start = output.char_indices().rev().nth(MAX_REPORTED - 1).map_or(0, |(at, _)| at);
    format!(
        "[Before this is handed over, `{command}` ran over your changes, and failed:]\n{}\n[Mend what your changes broke. If the \
         failure is not theirs, change nothing and say so.]",
        output[start..].trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_the_place_says_nothing_of_the_files() {
        for (code, output, says) in [
            (Some(0), "fine: error: no such command", true),
            (Some(101), "error[E0308]: mismatched types", true),
            (Some(1), "1 failed, 41 passed in 0.1s", true),
            (Some(127), "bash: tsc: command not found", false),
            (Some(101), "error: no such command: `nextest`", false),
            (Some(137), "", false),
            (None, "", false),
        ] {
            assert_eq!(is_about_files(code, output), says, "{code:?} {output}");
        }
    }

    #[test]
    fn the_end_of_a_long_report_counts() {
        let output = format!("{}ü\nthe end\n", "x".repeat(10_000));
        let report = failure_report("make check", &output);
        assert!(report.contains("xü\nthe end\n[Mend") && report.len() < MAX_REPORTED + 300, "{report}");
        assert!(failure_report("c", "short").contains("]\nshort\n["));
    }
}
