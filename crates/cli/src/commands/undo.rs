use std::path::Path;

use headstart_budget::ledger::Outcome;
use headstart_git_ahead::GitChange;
use headstart_machine::context::Context;
use headstart_machine::conversation::is_as_left;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::setup::{self, AcceptingProcess};
use headstart_machine::store::{LockedSpeculation, SpeculationId, SpeculationState, Store};
use headstart_machine::undo::{self, KEPT, NOT_WHOLE, Undo};
use headstart_machine::{accounts, output, workspace};
use headstart_overlay_fs::{
    Conflict, ContentHash, KeptTurn, OsTree, SeveralUndone, TreeError, UndoOutcome, WorkspacePath,
};
use serde::Serialize;

use super::scope::{self, Purpose};
use crate::args::{self, IdArgs, Scope};

/// The result with `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum UndoReport<'a> {
    Undone {
        /// Absent for an accept in a chat, which stores no record.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        paths: &'a [WorkspacePath],
        /// What of git was taken back, in words.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        git: Vec<String>,
    },
    Conflict {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        conflicts: &'a [Conflict],
    },
}

/// Undoes an accept: that of a speculation, or the last one in a workspace.
pub(crate) fn run(args: args::Undo, context: &Context) -> Result<ExitStatus, CliError> {
    let store = context.store()?;
    let args::Undo { id: Some(id), all, workspace } = args else {
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
    let tree = setup::tree(Path::new(&workspace), Some(store.state_folder()), AcceptingProcess::Another)?;
    let digest = finished.changes.digest_with(beside.as_deref());
    let cannot = |error| not_undone(&tree, (&workspace, store), &[digest], &error);
    let turns = tree.kept_turns().map_err(cannot)?;
    let kept = turns.into_iter().find(|kept| kept.commits.contains(&digest)).unwrap_or_default();
    let undo = Undo::of(&kept, Path::new(&workspace));
    let since = (undo.commit_since(), undo.pushed_to());
    match tree.undo_with(&finished.changes, beside.as_deref()).map_err(cannot)? {
        UndoOutcome::Undone { paths, .. } => {
            mark(&mut locked, context)?;
            locked.end_accept();
            let others = beside.into_iter().collect();
            let undone = SeveralUndone { commits: 1, paths, others, stopped: None };
            told(Some(id.as_str()), &undone, (&undo, since), context)?;
            Ok(ExitStatus::Done)
        }
        UndoOutcome::Conflict(conflicts) => {
            conflict(Some(id.as_str()), (&SeveralUndone::default(), &conflicts), context)
        }
        _ if record.state == SpeculationState::Finished => Err(wrong(never)),
        _ if finished.changes.is_empty() && beside.is_none() => {
            Err(wrong("changed nothing, so there is nothing to undo"))
        }
        _ if beside.is_none() && is_as_left(Path::new(&workspace), &finished.changes) => {
            Err(wrong(&format!(
                "is not kept any more, so nothing was changed; in {workspace}, \
             `headstart diff {id} --patch | git apply --reverse` takes the changes back"
            )))
        }
        _ => Err(wrong("is not kept any more, so nothing was changed")),
    }
}

/// Takes back what was written last in a workspace: a turn of a chat as a whole, or a single accept.
fn last(store: &Store, path: Option<&Path>, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(path)?;
    let tree = setup::tree(Path::new(&workspace), Some(store.state_folder()), AcceptingProcess::Another)?;
    let turns = tree.kept_turns().map_err(|error| not_undone(&tree, (&workspace, store), &[], &error))?;
    let Some(kept) = turns.iter().rev().find(|kept| !kept.commits.is_empty()) else {
        return Err(CliError::Unavailable(format!(
            "headstart wrote nothing in {workspace} that can be taken back ({KEPT})"
        )));
    };
    if !kept.is_whole {
        return Err(CliError::Unavailable(format!(
            "the last turn in {workspace} cannot be taken back: {NOT_WHOLE}; nothing was changed"
        )));
    }
    let undo = Undo::of(kept, Path::new(&workspace));
    let since = (undo.commit_since(), undo.pushed_to());
    let cannot = |error| not_undone(&tree, (&workspace, store), &kept.commits, &error);
    let undone = tree.undo_several(&kept.commits).map_err(cannot)?;
    let mut id = None;
    for changes in kept.commits.iter().rev().take(undone.commits) {
        match mark_record_of(store, &workspace, *changes, context)? {
            Some(found) => id = Some(found),
            None => accounts::undone(context, &workspace, *changes),
        }
    }
    if 0 < undone.commits {
        told(id.as_ref().map(SpeculationId::as_str), &undone, (&undo, since), context)?;
    }
    match &undone.stopped {
        None => Ok(ExitStatus::Done),
        Some(UndoOutcome::Conflict(conflicts)) => {
            let last = kept.commits.last().map(|changes| record_of(store, &workspace, *changes));
            let id = last.transpose()?.flatten();
            let status = conflict(id.as_ref().map(SpeculationId::as_str), (&undone, conflicts), context)?;
            if undone.commits == 0 {
                let before = turns.iter().rev().skip_while(|turn| *turn != kept).skip(1);
                way_on(store, &workspace, conflicts, before)?;
            }
            Ok(status)
        }
        Some(_) => Err(CliError::Unavailable(format!("{workspace}: {NOT_WHOLE}"))),
    }
}

/// Says what can be done where the last turn is in the way of all before it, and which of them can be taken back by itself.
fn way_on<'t>(
    store: &Store,
    workspace: &str,
    conflicts: &[Conflict],
    before: impl Iterator<Item = &'t KeptTurn>,
) -> Result<(), CliError> {
    output::note("once that is as it was accepted, undo takes it back");
    for turn in
        before.filter(|turn| conflicts.iter().all(|conflict| !turn.written.contains_key(&conflict.path)))
    {
        let [changes] = turn.commits[..] else { continue };
        if let Some(id) = record_of(store, workspace, changes)? {
            output::note(&format!("headstart undo {id} takes back what was accepted before it"));
            break;
        }
    }
    Ok(())
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
        let id = locked.record().id.clone();
        locked.mark(SpeculationState::Finished).inspect_err(|_| {
            output::note(&format!(
                "what {id} changed is taken back, but that could not be noted; `headstart undo {id}` notes it when it can be"
            ));
        })?;
        accounts::decided(context, locked.record(), (Outcome::Undone, 0));
    }
    Ok(())
}

fn told(
    id: Option<&str>,
    undone: &SeveralUndone,
    (undo, (commit, pushed)): (&Undo<'_>, (Option<String>, Option<String>)),
    context: &Context,
) -> Result<(), CliError> {
    let lines = undo.finish(undone, usize::MAX);
    if context.output.is_json() {
        let git = undo::git_changes(undone);
        return output::print_json(&UndoReport::Undone { id, paths: &undone.paths, git });
    }
    output::print(&(lines.join("\n") + "\n"))?;
    if let Some(commit) = commit {
        output::note(&format!("files of it were committed since ({commit}); that commit stays"));
    }
    if let Some(branch) = pushed {
        output::note(&format!("its commit was pushed to {branch}, where it stays"));
    }
    if let Some(id) = id {
        output::note(&format!("headstart accept {id} applies it again; abort {id} leaves nothing of it"));
    }
    Ok(())
}

fn conflict(
    id: Option<&str>,
    (undone, conflicts): (&SeveralUndone, &[Conflict]),
    context: &Context,
) -> Result<ExitStatus, CliError> {
    if context.output.is_json() {
        output::print_json(&UndoReport::Conflict { id, conflicts })?;
    }
    for conflict in conflicts {
        output::note(&format!("conflict: {}", output::conflict_line(conflict)));
    }
    output::note(match undone.commits {
        0 => "what was accepted has changed since, so nothing was undone",
        _ => "older changes of the same turn have changed since, so they stayed",
    });
    Ok(ExitStatus::Conflict)
}

/// Why nothing was taken back, or not all of these commits.
fn not_undone(
    tree: &OsTree,
    (workspace, store): (&str, &Store),
    commits: &[ContentHash],
    error: &TreeError,
) -> CliError {
    let are_kept = |turns: &[KeptTurn]| {
        commits.iter().all(|commit| turns.iter().any(|turn| turn.commits.contains(commit)))
    };
    let folders = (Path::new(workspace), store.state_folder());
    setup::not_done(tree, "taken back", folders, error, |tree| Ok(are_kept(&tree.kept_turns()?)))
}
