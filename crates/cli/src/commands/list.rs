use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use headstart_machine::clock;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::{self, Output};
use headstart_machine::setup;
use headstart_machine::store::{Record, Store};
use headstart_terminal::Size;
use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::scope;
use crate::args::Scope;

/// One speculation, without its content.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "speculation", rename_all = "camelCase")]
struct SpeculationRow {
    id: String,
    status: &'static str,
    created_at: u64,
    workspace: String,
    mode: headstart_tool_gate::ApprovalMode,
    model: String,
    prompt: String,
    files: usize,
    /// What it changed in the repository, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    git: Option<String>,
    next: Option<String>,
}

/// A record that could not be read.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "skipped", rename_all = "camelCase")]
struct SkippedSpeculation {
    message: String,
}

/// Lists the speculations of a workspace, or of all, the newest first.
pub(crate) fn run(scope: &Scope, context: &Context) -> Result<ExitStatus, CliError> {
    let store = context.store()?;
    let here = scope::workspace(scope)?;
    let (mut rows, skipped) = rows(&store)?;
    let all = rows.len();
    rows.retain(|row| here.as_ref().is_none_or(|here| row.workspace == *here));
    let elsewhere = all - rows.len();
    let workspaces: BTreeSet<&str> =
        here.as_deref().into_iter().chain(rows.iter().map(|row| &*row.workspace)).collect();
    for workspace in workspaces.into_iter().map(Path::new).filter(|workspace| workspace.is_dir()) {
        if let Err(error) = setup::report_interrupted(workspace, store.state_folder()) {
            output::note(&error.to_string());
        }
    }
    for message in skipped {
        output::note(&format!("skipped: {message}"));
        if context.output.is_json() {
            output::print_json(&SkippedSpeculation { message })?;
        }
    }
    if context.output.is_json() {
        rows.iter().try_for_each(output::print_json)?;
        return Ok(ExitStatus::Done);
    }
    if rows.is_empty() {
        let place = if here.is_some() { " of this workspace" } else { "" };
        output::note(&format!("no speculations{place}; `headstart speculate` makes one"));
    } else {
        output::print(&table(&rows, here.is_none(), clock::unix_ms(), context.output))?;
    }
    if 0 < elsewhere {
        let those = if elsewhere == 1 { "1 of another workspace" } else { &format!("{elsewhere} of others") };
        output::note(&format!("{those}: `headstart list --all`"));
    }
    Ok(ExitStatus::Done)
}

fn rows(store: &Store) -> Result<(Vec<SpeculationRow>, Vec<String>), CliError> {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for id in store.ids()? {
        let row = store.read(&id).and_then(|record| Ok(row(store.is_alive(&record)?, record)));
        match row {
            Ok(row) => rows.push(row),
            // Another process removed it after its name was read.
            Err(CliError::UnknownId { .. }) => {}
            Err(error) => skipped.push(error.to_string()),
        }
    }
    rows.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
    Ok((rows, skipped))
}

fn row(alive: bool, record: Record) -> SpeculationRow {
    SpeculationRow {
        id: record.id.to_string(),
        status: record.status_word(alive),
        created_at: record.created_at,
        workspace: record.workspace,
        mode: record.mode,
        model: record.model,
        prompt: record.prompt,
        files: record.finished.as_ref().map_or(0, |finished| finished.changes.summary().len()),
        git: record.finished.as_ref().and_then(|finished| Some(finished.git.as_ref()?.summary())),
        next: record.finished.and_then(|finished| finished.next),
    }
}

/// The table. If all rows belong to one workspace, the column for it is left out.
fn table(rows: &[SpeculationRow], of_all: bool, now_ms: u64, output: Output) -> String {
    let workspace = if of_all { "WORKSPACE" } else { "" };
    let head = ["ID", "AGE", "STATUS", "FILES", "PROMPT", workspace].map(str::to_owned);
    let cells = rows.iter().map(|row| {
        let age = output::age(now_ms.saturating_sub(row.created_at));
        let git = row.git.as_ref().map(|git| format!(" ({})", output::one_line(git)));
        let prompt = format!("{}{}", output::one_line(&row.prompt), git.unwrap_or_default());
        let workspace = if of_all { output::one_line(&row.workspace) } else { String::new() };
        [row.id.clone(), age, row.status.to_owned(), row.files.to_string(), prompt, workspace]
    });
    let mut lines: Vec<[String; 6]> = [head].into_iter().chain(cells).collect();
    let terminal = output.is_terminal().then(|| Size::of_terminal().ok()).flatten();
    if let Some(size) = terminal {
        fit(&mut lines, size.columns.into());
    }
    let mut widths = [0, 1, 2, 3, 4].map(|column| widest(&lines, column));
    if terminal.is_none() {
        // A long prompt is printed in full, but does not widen the column of the other rows.
        widths[4] = widths[4].min(60);
    }
    let mut table = String::new();
    for (number, cells) in lines.iter().enumerate() {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            let gap = " ".repeat(width.saturating_sub(cell.width()) + 2);
            write!(line, "{cell}{gap}").expect("works because writing to a String cannot fail");
        }
        line += &cells[5];
        line.truncate(line.trim_end().len());
        table += &if number == 0 { output.style().dim(&line) } else { line };
        table.push('\n');
    }
    table
}

/// Shortens prompts and workspaces so that no line is wider than the terminal. A workspace gets a third of the space
/// for the two, and is cut at its beginning, because its end says more.
fn fit(lines: &mut [[String; 6]], columns: usize) {
    let before: usize = [0, 1, 2, 3].map(|column| widest(lines, column) + 2).iter().sum();
    let room = columns.saturating_sub(before + 2);
    let workspace = widest(lines, 5).min(room / 3);
    for line in lines {
        line[4] = beginning_of(&line[4], room - workspace);
        line[5] = end_of(&line[5], workspace);
    }
}

fn widest(lines: &[[String; 6]], column: usize) -> usize {
    lines.iter().map(|line| line[column].width()).max().unwrap_or_default()
}

/// The beginning of a text that fits into so many cells. Output into a pipe is not shortened.
fn beginning_of(text: &str, cells: usize) -> String {
    if text.width() <= cells {
        return text.to_owned();
    }
    let mut shown = String::new();
    for c in text.chars() {
        if cells <= shown.width() + c.width().unwrap_or_default() {
            break;
        }
        shown.push(c);
    }
    if 0 < cells { shown + "…" } else { shown }
}

/// Like [`beginning_of`], but the end of the text.
fn end_of(text: &str, cells: usize) -> String {
    let reversed: String = text.chars().rev().collect();
    beginning_of(&reversed, cells).chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_with_a_mark() {
        for (cells, beginning, end) in
            [(0, "", ""), (1, "…", "…"), (4, "/a/…", "…/bc"), (5, "/a/bc", "/a/bc"), (9, "/a/bc", "/a/bc")]
        {
            assert_eq!(
                (beginning_of("/a/bc", cells), end_of("/a/bc", cells)),
                (beginning.into(), end.into())
            );
        }
        assert_eq!(beginning_of("日本語", 4), "日…");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let line = |prompt: &str, workspace: &str| {
            ["7k2m", "3 d", "completed", "2", prompt, workspace].map(str::to_owned)
        };
        for columns in [10, 30, 50, 80, 200] {
            let mut lines = [line("go", "/p"), line(&"語 ".repeat(80), &"/long/path".repeat(20))];
            fit(&mut lines, columns);
            let width: usize = (0..6).map(|column| widest(&lines, column) + 2).sum::<usize>() - 2;
            assert!(width <= columns.max(4 + 3 + 9 + 1 + 10), "{columns}: {lines:?}");
        }
    }
}
