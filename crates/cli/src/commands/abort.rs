use std::path::Path;
use std::time::{Duration, Instant};

use headstart_budget::ledger::Outcome;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::{self, Spinner};
use headstart_machine::setup::{self, AcceptingProcess};
use headstart_machine::store::{LockedSpeculation, Record, SpeculationId, SpeculationState, Store};
use headstart_machine::{accounts, workspace};
use headstart_overlay_fs::{OsTree, Workspace};
use serde::Serialize;

use super::scope::{self, Purpose};
use crate::args::IdArgs;

/// A running speculation checks ten times a second whether it should stop, and dropping its request is quick.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "aborted", rename_all = "camelCase")]
struct AbortReport<'a> {
    id: &'a str,
    /// Whether a running process was told to stop.
    was_running: bool,
}

/// Removes a speculation, or makes the process that runs it remove it.
pub(crate) fn run(args: &IdArgs, context: &Context) -> Result<ExitStatus, CliError> {
    let store = context.store()?;
    let id = scope::find(&store, args, Purpose::Change { verb: "abort", context })?;
    let record = match store.read(&id) {
        Err(CliError::DamagedRecord { reason, .. }) => {
            store.remove_damaged(&id)?;
            output::note(&format!("{reason}; what {id} was is not known, and what of it was accepted stays"));
            return report_abort(&id, false, context);
        }
        other => other?,
    };
    let was_running = store.is_alive(&record)?;
    if was_running {
        stop(&store, &record, context)?;
    } else {
        remove(&store, &id, context)?;
    }
    report_abort(&id, was_running, context)
}

fn report_abort(id: &SpeculationId, was_running: bool, context: &Context) -> Result<ExitStatus, CliError> {
    if context.output.is_json() {
        output::print_json(&AbortReport { id: id.as_str(), was_running })?;
    } else {
        output::print(&format!("aborted {id}; nothing of it is left\n"))?;
    }
    Ok(ExitStatus::Done)
}

fn remove(store: &Store, id: &SpeculationId, context: &Context) -> Result<(), CliError> {
    let locked = store.lock(id)?;
    if locked.record().state == SpeculationState::Accepted || is_accepted(store, &locked)? {
        let problem = format!("was accepted: its changes are in the workspace; see `headstart undo {id}`");
        return Err(CliError::WrongState { id: id.to_string(), problem });
    }
    accounts::decided(context, locked.record(), (Outcome::Aborted, 0));
    forget(store, locked.record());
    locked.remove()
}

/// Removes what was prepared for an accept. If the workspace cannot be opened any more, a sweep removes it.
fn forget(store: &Store, record: &Record) {
    let options = setup::options(Some(store.state_folder()), AcceptingProcess::Another);
    if let Some(finished) = &record.finished
        && let Ok(tree) = OsTree::open_with(&record.workspace, options)
    {
        tree.forget(&finished.changes);
    }
}

/// Whether the process that accepted the speculation died before it could record that.
fn is_accepted(store: &Store, locked: &LockedSpeculation) -> Result<bool, CliError> {
    let record = locked.record();
    let (Some(finished), true) = (&record.finished, locked.accept_began()) else { return Ok(false) };
    // If the workspace does not exist any more, neither do the changes in it.
    let Ok(workspace) = workspace::of_record(record) else { return Ok(false) };
    let workspace = Path::new(&workspace);
    let tree = setup::tree(workspace, Some(store.state_folder()), AcceptingProcess::Another)?;
    tree.is_committed(&finished.changes)
        .map_err(|error| setup::cannot_open(workspace, Some(store.state_folder()), &error))
}

/// Waits until the process that runs the speculation has aborted it.
fn stop(store: &Store, record: &Record, context: &Context) -> Result<(), CliError> {
    let id = &record.id;
    let pid = record.owner.pid;
    store.request_abort(id)?;
    let _spinner = Spinner::start(&format!("waiting for process {pid} to give {id} up"));
    let deadline = Instant::now() + PATIENCE;
    loop {
        match store.read(id) {
            Err(CliError::UnknownId { .. }) => return Ok(()),
            Err(error) => return Err(error),
            // The speculation ended, or its process died, before the request was seen.
            Ok(record) if !store.is_alive(&record)? => match remove(store, id, context) {
                Err(CliError::UnknownId { .. }) => return Ok(()),
                other => return other,
            },
            Ok(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            Ok(_) => {
                let problem = format!(
                    "was told to stop, but process {pid} has not given it up yet; end that process and try again"
                );
                return Err(CliError::WrongState { id: id.to_string(), problem });
            }
        }
    }
}
