use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::output;
use headstart_machine::store::{SpeculationId, Store};
use headstart_machine::workspace;

use crate::args::{IdArgs, Scope};

/// What a speculation is searched for.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    /// To show it.
    Read,
    /// To change files or the record.
    Change { verb: &'static str, context: &'a Context },
}

/// The workspace whose speculations are meant; `None` for all workspaces.
pub(super) fn workspace(scope: &Scope) -> Result<Option<String>, CliError> {
    if scope.all {
        return Ok(None);
    }
    workspace::resolve(scope.workspace.path.as_deref()).map(Some)
}

/// The speculation that the user means. One of another workspace only counts if that workspace is named, or if a person
/// at the terminal agrees.
pub(super) fn find(store: &Store, of: &IdArgs, purpose: Purpose) -> Result<SpeculationId, CliError> {
    let Some(here) = workspace(&of.scope)? else { return store.resolve(&of.id) };
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for id in store.fitting(&of.id)? {
        match store.read(&id) {
            Ok(record) if record.workspace != here && workspace::of_record(&record).is_ok() => {
                outside.push((id, record.workspace));
            }
            // Another process removed it after its name was read.
            Err(CliError::UnknownId { .. }) => {}
            // Nobody can be in a workspace that no longer exists, and the workspace of an unreadable record is unknown,
            // so both count as here.
            _ => inside.push(id),
        }
    }
    if !inside.is_empty() || outside.len() != 1 {
        let candidates =
            if inside.is_empty() { outside.into_iter().map(|(id, _)| id).collect() } else { inside };
        return store.only(&of.id, candidates);
    }
    let (id, workspace) = outside.remove(0);
    match purpose {
        Purpose::Change { verb, context } if agrees(verb, &id, &workspace, context)? => Ok(id),
        _ => Err(CliError::Elsewhere { id: id.to_string(), workspace }),
    }
}

/// Asks the person at the terminal. Without one the answer is no.
fn agrees(verb: &str, id: &SpeculationId, workspace: &str, context: &Context) -> Result<bool, CliError> {
    let workspace = output::one_line(workspace);
    let question = format!("speculation {id} is of another workspace, {workspace}; {verb} it there? [y/N] ");
    Ok(super::says_yes(&question, context)?.unwrap_or(false))
}
