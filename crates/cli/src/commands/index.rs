//! `headstart index`: updates the index of a project; also shows, pauses, rebuilds or empties it.

use std::path::Path;

use headstart_code_index::{Progress, Step};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::index::{Index, PAUSED};
use headstart_machine::output::Spinner;
use headstart_machine::{output, workspace};
use serde::Serialize;

use super::search::open;
use crate::args::{IndexAction, IndexArgs};

/// The one line of output with `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IndexStatus {
    workspace: String,
    database: String,
    files: u64,
    chunks: u64,
    /// Contents of other branches or earlier versions, which are kept in case they are needed again.
    unused_contents: u64,
    bytes: u64,
    /// The share of files that are current, if that was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    indexed_percent: Option<u64>,
    /// Whether no process updates the index by itself.
    paused: bool,
    /// The state of the vectors, if a model makes any.
    #[serde(skip_serializing_if = "Option::is_none")]
    vectors: Option<VectorStatus>,
}

#[derive(Serialize)]
struct VectorStatus {
    model: String,
    chunks: u64,
    of: u64,
}

/// Removes all content. A paused index stays paused.
fn empty(index: &Index) -> Result<(), CliError> {
    let paused = index.store.note(PAUSED)?.unwrap_or_default();
    index.store.clean()?;
    Ok(index.store.set_note(PAUSED, &paused)?)
}

/// The error where the current folder is the home folder or one above it: an index of that would take in all projects
/// and much else, for hours. Whoever means it names the folder.
fn refuse_more_than_a_project(workspace: &Path, context: &Context) -> Result<(), CliError> {
    let home = context.environment.get("HOME").and_then(|home| Path::new(home).canonicalize().ok());
    let what = match home {
        _ if workspace.parent().is_none() => "the root of the file system",
        Some(home) if home == workspace => "your home folder",
        Some(home) if home.starts_with(workspace) => "above your home folder",
        _ => return Ok(()),
    };
    let folder = output::one_line(&workspace.display().to_string());
    Err(CliError::Unavailable(format!(
        "{folder} is {what}, so everything below it would be indexed; go to a folder of a project, or say \
         headstart index --workspace {folder}"
    )))
}

/// How far an update is.
fn step_words(step: Step) -> String {
    match step {
        Step::Walk(files) => format!("looking for files: {files} found"),
        Step::Read(Progress { current, all }) => {
            format!("indexing: {current} of {all} files; Ctrl-C stops, and what is indexed stays")
        }
    }
}

pub(crate) async fn run(args: IndexArgs, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let reads_files = matches!(args.action, None | Some(IndexAction::Rebuild));
    if reads_files && args.workspace.path.is_none() {
        refuse_more_than_a_project(Path::new(&workspace), context)?;
    }
    let (index, models) = open(&workspace, context)?;
    let mut percent = None;
    match args.action {
        Some(IndexAction::Status) => {}
        Some(IndexAction::Pause) => index.store.set_note(PAUSED, "yes")?,
        Some(IndexAction::Resume) => index.store.set_note(PAUSED, "")?,
        Some(IndexAction::Clear) => empty(&index)?,
        action => {
            if action == Some(IndexAction::Rebuild) {
                empty(&index)?;
            }
            let spinner =
                Spinner::start(&format!("looking for the files of {}", output::one_line(&workspace)));
            let updated = index.follow(None, &mut |step| spinner.relabel(|| step_words(step))).await?;
            drop(spinner);
            for notice in &updated.told {
                output::note(notice);
            }
            percent = Some(updated.progress.percent());
            let spinner = Spinner::start("making vectors");
            index.embed(&models).await?;
            drop(spinner);
            index.store.compact()?;
        }
    }
    let vectors = index.vector_status(&models)?.map(|(model, status)| VectorStatus {
        model,
        chunks: status.current,
        of: status.all,
    });
    models.notices().iter().for_each(|notice| output::note(notice));
    let status = index.store.status()?;
    let paused = index.store.note(PAUSED)?.is_some_and(|value| !value.is_empty());
    let line = IndexStatus {
        workspace,
        database: index.store.path().display().to_string(),
        files: status.files,
        chunks: status.chunks,
        unused_contents: status.unused_contents,
        bytes: status.bytes,
        indexed_percent: percent,
        paused,
        vectors,
    };
    if context.output.is_json() {
        output::print_json(&line)?;
    } else {
        let megabytes = line.bytes.div_ceil(100_000);
        let text = format!(
            "{} files in {} chunks, {}.{} MB: {}",
            line.files,
            line.chunks,
            megabytes / 10,
            megabytes % 10,
            line.database
        );
        let text = match &line.vectors {
            Some(VectorStatus { model, chunks, of }) => {
                format!("{text}\n{chunks} of {of} chunks have vectors of {model}")
            }
            None => text,
        };
        let text = if line.paused { format!("{text} (paused)") } else { text };
        output::print(&(output::printable(&text) + "\n"))?;
    }
    Ok(ExitStatus::Done)
}
