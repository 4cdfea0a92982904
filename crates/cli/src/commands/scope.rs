use crate::args::{OfId, Scope};
use crate::context::Context;
use crate::error::CliError;
use crate::output;
use crate::store::{SpeculationId, Store};
use crate::workspace;

/// What a speculation is looked for.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    /// To be shown.
    Look,
    /// For something that changes files or the record.
    Change { verb: &'static str, context: &'a Context },
}

/// The workspace whose speculations are meant; `None`: those of all.
pub(super) fn workspace(scope: &Scope) -> Result<Option<String>, CliError> {
    if scope.all {
        return Ok(None);
    }
    workspace::resolve(scope.workspace.path.as_deref()).map(Some)
}

/// The speculation that is meant. One of another workspace is meant only where that is named, or where somebody at the
/// terminal agrees.
pub(super) fn find(store: &Store, of: &OfId, purpose: Purpose) -> Result<SpeculationId, CliError> {
    let Some(here) = workspace(&of.scope)? else { return store.resolve(&of.id) };
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for id in store.fitting(&of.id)? {
        match store.read(&id) {
            Ok(record) if record.workspace != here && workspace::of_record(&record).is_ok() => {
                outside.push((id, record.workspace));
            }
            // Somebody removed it since its name was read.
            Err(CliError::UnknownId { .. }) => {}
            // Nobody can stand in a workspace that is gone, and of a record that cannot be read nobody knows it.
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

/// Asks whoever is at the terminal. Without one nobody agrees.
fn agrees(verb: &str, id: &SpeculationId, workspace: &str, context: &Context) -> Result<bool, CliError> {
    let workspace = output::one_line(workspace);
    let question = format!("speculation {id} is of another workspace, {workspace}; {verb} it there? [y/N] ");
    Ok(super::says_yes(&question, context)?.unwrap_or(false))
}
