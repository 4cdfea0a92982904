use std::path::Path;

use headstart_budget::ledger::Outcome;
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{Conflict, ContentHash, UndoOutcome, WorkspacePath};
use serde::Serialize;

use super::scope::{self, Purpose};
use crate::args::{IdArgs, Scope, Undo};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::setup::{self, AcceptingProcess};
use crate::store::{LockedSpeculation, SpeculationId, SpeculationState, Store};
use crate::{accounts, output, workspace};

/// The result with `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum UndoReport<'a> {
    Undone {
        /// Absent for an accept in a chat, which stores no record.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        paths: &'a [WorkspacePath],
    },
    Conflict {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        conflicts: &'a [Conflict],
    },
}

/// Undoes an accept: that of a speculation, or the last one in a workspace.
pub(crate) fn run(args: Undo, context: &Context) -> Result<ExitStatus, CliError> {
    let store = context.store()?;
    let Undo { id: Some(id), all, workspace } = args else {
        return last(&store, args.workspace.path.as_deref(), context);
    };
    let of = IdArgs { id, scope: Scope { all, workspace } };
    let id = scope::find(&store, &of, Purpose::Change { verb: "undo", context })?;
    of_speculation(&store, &id, context)
}

fn of_speculation(store: &Store, id: &SpeculationId, context: &Context) -> Result<ExitStatus, CliError> {
    let mut locked = store.lock(id)?;
    let wrong = |problem: &str| CliError::WrongState { id: id.to_string(), problem: problem.to_owned() };
    let record = locked.record();
    let never = "was not accepted, so there is nothing to undo";
    // A speculation that is not marked as accepted may have been accepted by a process that died before it could mark
    // it.
    let finished = match (&record.finished, record.state) {
        (Some(finished), SpeculationState::Accepted) => finished,
        (Some(finished), SpeculationState::Finished) if locked.accept_began() => finished,
        _ => return Err(wrong(never)),
    };
    let workspace = workspace::of_record(record)?;
    let beside = finished.git.as_ref().map(GitChange::beside);
    let outcome = setup::tree(Path::new(&workspace), Some(store.state_folder()), AcceptingProcess::Another)?
        .undo_with(&finished.changes, beside.as_deref())
        .map_err(|error| failed(&workspace, store, &error))?;
    match outcome {
        UndoOutcome::Undone { paths, .. } => {
            mark(&mut locked, context)?;
            locked.end_accept();
            undone(Some(id.as_str()), &paths, context)
        }
        UndoOutcome::Conflict(conflicts) => conflict(Some(id.as_str()), &conflicts, context),
        _ if record.state == SpeculationState::Finished => Err(wrong(never)),
        _ => Err(wrong(&format!(
            "is not kept any more, so nothing was changed; in {workspace}, \
             `headstart diff {id} --patch | git apply --reverse` takes the changes back"
        ))),
    }
}

fn last(store: &Store, path: Option<&Path>, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(path)?;
    let tree = setup::tree(Path::new(&workspace), Some(store.state_folder()), AcceptingProcess::Another)?;
    match tree.undo_last().map_err(|error| failed(&workspace, store, &error))? {
        UndoOutcome::Undone { changes, paths } => {
            let id = mark_record_of(store, &workspace, changes, context)?;
            if id.is_none() {
                accounts::undone(context, &workspace, changes);
            }
            undone(id.as_ref().map(SpeculationId::as_str), &paths, context)
        }
        UndoOutcome::Conflict(conflicts) => {
            let changes = tree.last_undoable().map_err(|error| failed(&workspace, store, &error))?;
            let id = changes.map(|changes| record_of(store, &workspace, changes)).transpose()?.flatten();
            conflict(id.as_ref().map(SpeculationId::as_str), &conflicts, context)
        }
        _ => Err(CliError::Unavailable(format!(
            "no accept in {workspace} is kept that could be undone; `headstart list` shows what there is"
        ))),
    }
}

/// Marks the speculation whose accept was undone as waiting for a decision again.
fn mark_record_of(
    store: &Store,
    workspace: &str,
    changes: ContentHash,
    context: &Context,
) -> Result<Option<SpeculationId>, CliError> {
    let found = record_of(store, workspace, changes)?;
    if let Some(id) = &found {
        mark(&mut store.lock(id)?, context)?;
    }
    Ok(found)
}

/// The speculation with these changes, if there is a record of it.
fn record_of(
    store: &Store,
    workspace: &str,
    changes: ContentHash,
) -> Result<Option<SpeculationId>, CliError> {
    let mut found = None;
    for id in store.ids()? {
        // A record that cannot be read is not of this accept; `list` reports it.
        let Ok(record) = store.read(&id) else { continue };
        let is_it = record.workspace == workspace
            && record.finished.is_some_and(|finished| finished.digest() == Some(changes));
        // If two speculations did the same work, the accepted one is meant.
        if is_it && (found.is_none() || record.state == SpeculationState::Accepted) {
            found = Some(id);
        }
    }
    Ok(found)
}

/// An accept that its process could not record is not in the ledger, so nothing has to be undone there.
fn mark(locked: &mut LockedSpeculation, context: &Context) -> Result<(), CliError> {
    if locked.record().state == SpeculationState::Accepted {
        locked.mark(SpeculationState::Finished)?;
        accounts::decided(context, locked.record(), (Outcome::Undone, 0));
    }
    Ok(())
}

fn undone(id: Option<&str>, paths: &[WorkspacePath], context: &Context) -> Result<ExitStatus, CliError> {
    if context.output.is_json() {
        output::print_json(&UndoReport::Undone { id, paths })?;
        return Ok(ExitStatus::Done);
    }
    let lines = paths.iter().map(|path| format!("as before  {}\n", output::one_line(&path.to_string())));
    output::print(&lines.collect::<String>())?;
    if let Some(id) = id {
        output::note(&format!("headstart accept {id} applies it again; abort {id} leaves nothing of it"));
    }
    Ok(ExitStatus::Done)
}

fn conflict(id: Option<&str>, conflicts: &[Conflict], context: &Context) -> Result<ExitStatus, CliError> {
    if context.output.is_json() {
        output::print_json(&UndoReport::Conflict { id, conflicts })?;
    }
    for conflict in conflicts {
        output::note(&format!("conflict: {}", output::conflict_line(conflict)));
    }
    output::note("what was accepted has changed since, so nothing was undone");
    Ok(ExitStatus::Conflict)
}

fn failed(workspace: &str, store: &Store, error: &headstart_overlay_fs::TreeError) -> CliError {
    setup::cannot_open(Path::new(workspace), Some(store.state_folder()), error)
}
