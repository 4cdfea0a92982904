use std::fmt::Write;

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::clock;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::output::{self, Output};
use crate::store::{Record, Store};

/// One speculation, without its content.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "speculation", rename_all = "camelCase")]
struct Row {
    id: String,
    status: &'static str,
    created_at: u64,
    workspace: String,
    mode: headstart_tool_gate::ApprovalMode,
    model: String,
    prompt: String,
    files: usize,
    next: Option<String>,
}

/// A record that could not be read.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "skipped", rename_all = "camelCase")]
struct Skipped {
    message: String,
}

/// Lists every speculation, oldest first.
pub(crate) fn run(context: &Context) -> Result<ExitStatus, CliError> {
    let store = context.store()?;
    let (rows, skipped) = rows(&store)?;
    for message in skipped {
        output::note(&format!("skipped: {message}"));
        if context.output.is_json() {
            output::print_json(&Skipped { message })?;
        }
    }
    if context.output.is_json() {
        rows.iter().try_for_each(output::print_json)?;
        return Ok(ExitStatus::Done);
    }
    if rows.is_empty() {
        output::note("no speculations; `headstart speculate` makes one");
    } else {
        output::print(&table(&rows, clock::unix_ms(), context.output))?;
    }
    Ok(ExitStatus::Done)
}

fn rows(store: &Store) -> Result<(Vec<Row>, Vec<String>), CliError> {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for id in store.ids()? {
        let row = store.read(&id).and_then(|record| Ok(row(store.is_alive(&record)?, record)));
        match row {
            Ok(row) => rows.push(row),
            // Somebody removed it since its name was read.
            Err(CliError::UnknownId { .. }) => {}
            Err(error) => skipped.push(error.to_string()),
        }
    }
    rows.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok((rows, skipped))
}

fn row(alive: bool, record: Record) -> Row {
    Row {
        id: record.id.to_string(),
        status: record.status_word(alive),
        created_at: record.created_at,
        workspace: record.workspace,
        mode: record.mode,
        model: record.model,
        prompt: record.prompt,
        files: record.finished.as_ref().map_or(0, |finished| finished.changes.summary().len()),
        next: record.finished.and_then(|finished| finished.next),
    }
}

fn table(rows: &[Row], now_ms: u64, output: Output) -> String {
    let head = ["ID", "AGE", "STATUS", "FILES"].map(str::to_owned);
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            let age = output::age(now_ms.saturating_sub(row.created_at));
            [row.id.clone(), age, row.status.to_owned(), row.files.to_string()]
        })
        .collect();
    let width =
        |column: usize| cells.iter().chain([&head]).map(|row| row[column].width()).max().unwrap_or_default();
    let widths = [0, 1, 2, 3].map(width);
    let line = |cells: &[String; 4], prompt: &str| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            write!(line, "{cell:width$}  ").expect("works because writing to a String cannot fail");
        }
        line + prompt + "\n"
    };
    let mut table = output.style().dim(line(&head, "PROMPT").trim_end()) + "\n";
    for (cells, row) in cells.iter().zip(rows) {
        table += &line(cells, &shortened(&output::one_line(&row.prompt), output));
    }
    table
}

/// On a terminal a prompt takes at most a line; in a pipe it is whole.
fn shortened(prompt: &str, output: Output) -> String {
    const CELLS: usize = 60;
    if !output.is_terminal() || prompt.width() <= CELLS {
        return prompt.to_owned();
    }
    let mut shown = String::new();
    for c in prompt.chars() {
        if CELLS <= shown.width() + 1 {
            break;
        }
        shown.push(c);
    }
    shown + "…"
}
