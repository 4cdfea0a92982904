use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use headstart_machine::clock;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::{self, Spinner};
use headstart_machine::setup::{self, AcceptingProcess};
use headstart_machine::store::{SpeculationState, Store, SweepPolicy, SweepResult};
use headstart_machine::views::all_stored;
use headstart_machine::workspace;
use headstart_overlay_fs::{ContentHash, OsTree, SweepOutcome};
use serde::Serialize;

use crate::args::Sweep;

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum SweepLine<'a> {
    Removed { name: &'a str, why: &'a str },
    Kept { name: &'a str, why: &'a str },
    Swept { removed: usize, kept: usize },
}

/// Removes stored data that nobody needs any more.
pub(crate) fn run(args: &Sweep, context: &Context) -> Result<ExitStatus, CliError> {
    let days = u64::from(args.older_than);
    let keep =
        SweepPolicy { younger_than: Duration::from_secs(days * 24 * 60 * 60), undecided: !args.undecided };
    let store = context.store()?;
    let workspaces = workspaces(args, &store)?;
    let spinner = Spinner::start("sweeping");
    let mut swept = store.sweep(clock::unix_ms(), keep)?;
    let wanted = referenced_contents(&store)?;
    swept.extend(workspaces.iter().flat_map(|workspace| sweep_workspace(workspace, &store, &wanted)));
    swept.extend(sweep_orphans(&store, Duration::from_millis(clock::unix_ms()), keep));
    swept.extend(sweep_views(&store));
    drop(spinner);
    swept.iter().try_for_each(|one| print(one, context))?;
    let removed = swept.iter().filter(|one| one.removed).count();
    let kept = swept.len() - removed;
    if context.output.is_json() {
        output::print_json(&SweepLine::Swept { removed, kept })?;
    } else {
        output::print(&format!("{removed} removed, {kept} kept\n"))?;
    }
    Ok(ExitStatus::Done)
}

/// The workspaces in which an accept that was killed may have left its staging folder: the current one, and those of
/// the records.
fn workspaces(args: &Sweep, store: &Store) -> Result<BTreeSet<String>, CliError> {
    let mut workspaces = BTreeSet::from([workspace::resolve(args.workspace.path.as_deref())?]);
    for id in store.ids()? {
        // A record that cannot be read is reported by the sweep of the store.
        workspaces.extend(store.read(&id).map(|record| record.workspace));
    }
    workspaces.retain(|workspace| Path::new(workspace).is_dir());
    Ok(workspaces)
}

/// The changes that may still be accepted.
fn referenced_contents(store: &Store) -> Result<Vec<ContentHash>, CliError> {
    let records = store.ids()?.into_iter().filter_map(|id| store.read(&id).ok());
    let finished = records
        .filter(|record| record.state == SpeculationState::Finished)
        .filter_map(|record| record.finished);
    Ok(finished.map(|finished| finished.changes.digest()).collect())
}

fn sweep_workspace(workspace: &str, store: &Store, wanted: &[ContentHash]) -> Vec<SweepResult> {
    let options = setup::options(Some(store.state_folder()), AcceptingProcess::Another);
    let swept = match OsTree::open_with(workspace, options).and_then(|tree| tree.sweep_unwanted(wanted)) {
        Ok(swept) => swept,
        Err(error) => {
            return vec![SweepResult { name: workspace.to_owned(), removed: false, why: error.to_string() }];
        }
    };
    tracing::info!(found = swept.len(), "the workspace was swept");
    swept.into_iter().map(|one| sweep_result(one, Path::new(workspace))).collect()
}

/// Removes data for undos in workspaces that no longer exist.
fn sweep_orphans(store: &Store, now: Duration, keep: SweepPolicy) -> Vec<SweepResult> {
    let state = store.state_folder();
    let unused_since = now.saturating_sub(keep.younger_than);
    match OsTree::sweep_orphans(state, unused_since) {
        Ok(swept) => swept
            .into_iter()
            .map(|one| match one.outcome {
                SweepOutcome::RecentOrphan => {
                    let result = sweep_result(one, state);
                    SweepResult { why: format!("{}, and {}", result.why, keep.in_words()), ..result }
                }
                _ => sweep_result(one, state),
            })
            .collect(),
        Err(error) => {
            vec![SweepResult { name: state.display().to_string(), removed: false, why: error.to_string() }]
        }
    }
}

/// Removes what views of dead processes left, and what is stored for views of workspaces that no longer exist.
fn sweep_views(store: &Store) -> Vec<SweepResult> {
    let stored = match all_stored(store.state_folder()) {
        Ok(stored) => stored,
        Err(error) => {
            let name = store.state_folder().join("shadow").display().to_string();
            return vec![SweepResult { name, removed: false, why: error.to_string() }];
        }
    };
    let mut swept = Vec::new();
    for one in stored {
        let name = one.folder.display().to_string();
        if 0 < one.left {
            let why = format!(
                "{} of dead processes",
                if one.left == 1 { "a view".to_owned() } else { format!("{} views", one.left) }
            );
            swept.push(SweepResult { name: name.clone(), removed: true, why });
        }
        if one.remove_if_unused() {
            swept.push(SweepResult { name, removed: true, why: "its workspace is gone".to_owned() });
        }
    }
    swept
}

fn sweep_result(one: headstart_overlay_fs::Swept, folder: &Path) -> SweepResult {
    let removed =
        matches!(one.outcome, SweepOutcome::Removed | SweepOutcome::RolledBack | SweepOutcome::Orphan);
    let name = folder.join(one.name).display().to_string();
    SweepResult { name, removed, why: output::swept(one.outcome).to_owned() }
}

fn print(swept: &SweepResult, context: &Context) -> Result<(), CliError> {
    let (name, why) = (swept.name.as_str(), swept.why.as_str());
    if context.output.is_json() {
        let line =
            if swept.removed { SweepLine::Removed { name, why } } else { SweepLine::Kept { name, why } };
        return output::print_json(&line);
    }
    let verb = if swept.removed { "removed" } else { "kept" };
    output::print(&format!("{verb:7}  {}  {}\n", output::one_line(name), output::one_line(why)))
}
