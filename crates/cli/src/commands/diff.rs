use headstart_machine::context::Context;
use headstart_machine::conversation::words;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::{self, ColorMode};
use headstart_overlay_fs::{Change, ChangeSet, ChangeSummary};
use serde::Serialize;

use super::scope::{self, Purpose};
use crate::args::Diff;

/// One path with its part of the diff, with `--json`.
#[derive(Debug, Serialize)]
struct FileDiff {
    #[serde(flatten)]
    change: ChangeSummary,
    diff: String,
}

/// Prints what a speculation would change, or has changed.
pub(crate) fn run(args: &Diff, context: &Context) -> Result<ExitStatus, CliError> {
    let store = context.store()?;
    let record = store.read(&scope::find(&store, &args.of, Purpose::Read)?)?;
    let Some(finished) = record.finished else {
        let problem = "has no result yet; `headstart list` shows where it stands".to_owned();
        return Err(CliError::WrongState { id: record.id.to_string(), problem });
    };
    let form = if args.patch { ChangeSet::patch } else { ChangeSet::diff };
    if context.output.is_json() {
        file_diffs(&finished.changes, form).iter().try_for_each(output::print_json)?;
        return Ok(ExitStatus::Done);
    }
    let diff = form(&finished.changes);
    // Output for a program must be exact, and output for a terminal must not contain control characters.
    if !context.output.is_terminal() {
        output::print(&diff)?;
        return Ok(ExitStatus::Done);
    }
    let style = context.output.style();
    if let Some(git) = &finished.git {
        output::print(&format!("{}\n", style.bold(&words::git_in_full(git))))?;
    }
    output::print(&for_people(&diff, style))?;
    Ok(ExitStatus::Done)
}

fn file_diffs(changes: &ChangeSet, form: fn(&ChangeSet) -> String) -> Vec<FileDiff> {
    let diff_of = |summary: &ChangeSummary| {
        let belongs =
            |change: &&Change| change.path == summary.path || Some(&change.path) == summary.from.as_ref();
        let changes = changes.changes.iter().filter(belongs).cloned().collect();
        form(&ChangeSet { changes, reads: Vec::new() })
    };
    changes.summary().into_iter().map(|change| FileDiff { diff: diff_of(&change), change }).collect()
}

/// The diff without control characters, and with colors.
pub(super) fn for_people(diff: &str, style: ColorMode) -> String {
    let mut shown = String::new();
    for line in output::printable(diff).lines() {
        let painted = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => {
                style.bold(line)
            }
            [b'+', ..] => style.green(line),
            [b'-', ..] => style.red(line),
            [b'@', ..] => style.cyan(line),
            _ => line.to_owned(),
        };
        shown += &painted;
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_on_a_terminal_has_colors_and_no_escapes_of_its_own() {
        let shown = for_people("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\x1b[2J\n+b\n c\n", ColorMode::Colored);
        let expected = "\x1b[1m--- a/x\x1b[0m\n\x1b[1m+++ b/x\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n\
                        \x1b[31m-a\\u{1b}[2J\x1b[0m\n\x1b[32m+b\x1b[0m\n c\n";
        assert_eq!(shown, expected);
    }
}
