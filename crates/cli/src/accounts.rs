//! The ledger of a project as the commands use it.

use headstart_budget::ledger::{Entry, Outcome, Source};
use headstart_budget::{EntryBuilder, outcome};
use headstart_overlay_fs::ContentHash;
use headstart_speculation::{Cost, Status};

use crate::clock;
use crate::config::{Config, Flags, Keep};
use crate::context::Context;
use crate::error::CliError;
use crate::ledger::Ledger;
use crate::output;
use crate::secrets;
use crate::store::Record;

/// The ledger of a workspace; without a state folder nothing is kept.
pub(crate) fn ledger_of(context: &Context, config: &Config, workspace: &str) -> Result<Ledger, CliError> {
    match context.store() {
        Ok(store) => Ok(Ledger::of(&store, workspace, config.ledger)),
        Err(CliError::NoStateDir) => Ok(Ledger::nowhere()),
        Err(error) => Err(error),
    }
}

/// What makes the entries, with the models and prices of the configuration.
pub(crate) fn entries_of(context: &Context, config: &Config, source: Source) -> EntryBuilder {
    let entries = EntryBuilder::new(source, config.tariff());
    match config.ledger {
        Keep::Prompts => entries.with_prompts(secrets::scrubber(&context.environment)),
        _ => entries,
    }
}

/// Writes down that changes were taken back of which no record is kept, if a suggestion had made them.
pub(crate) fn undone(context: &Context, workspace: &str, changes: ContentHash) {
    let config = context.config(&Flags::default(), workspace.as_ref());
    let read = config.and_then(|config| ledger_of(context, &config, workspace));
    let read = read.and_then(|ledger| Ok((ledger.read()?, ledger)));
    let (book, ledger) = match read {
        Ok(read) => read,
        Err(error) => return output::note(&format!("nothing of this is in the ledger: {error}")),
    };
    let mut taken: Vec<&str> = Vec::new();
    for entry in &book.entries {
        let Entry::Outcome(decision) = entry else { continue };
        if decision.changes == Some(changes) && decision.outcome.is_hit() {
            taken.push(&decision.id);
        } else {
            taken.retain(|id| *id != decision.id);
        }
    }
    if let Some(id) = taken.pop() {
        ledger.note(&[outcome(clock::unix_ms(), id, Outcome::Undone, 0)]);
    }
}

/// Writes down what a command made of a speculation that is kept. The command has done what it is for, so whatever goes
/// wrong here is a remark.
pub(crate) fn decided(context: &Context, record: &Record, decision: (Outcome, u64)) {
    let config = context.config(&Flags::default(), record.workspace.as_ref());
    let ledger = config.and_then(|config| Ok((ledger_of(context, &config, &record.workspace)?, config)));
    let (ledger, config) = match ledger {
        Ok(ledger) => ledger,
        Err(error) => return output::note(&format!("nothing of this is in the ledger: {error}")),
    };
    let (id, now) = (record.id.as_str(), clock::unix_ms());
    let mut entries = Vec::new();
    if record.finished.is_none() {
        // Its process died before it could write down what it spent; that there was something is all that is known.
        let makes = entries_of(context, &config, Source::Command).with_background(&record.model);
        entries.push(makes.speculation(now, id, &record.prompt, &Cost::default(), Status::Running));
    }
    entries.push(outcome(now, id, decision.0, decision.1));
    ledger.note(&entries);
}

/// Writes down of how many answers what another model gave for itself is left out of work ahead, where there are any.
pub(crate) fn note_left_out(ledger: &Ledger, entries: &EntryBuilder, answers: usize) {
    if 0 < answers {
        ledger.note(&[entries.left_out(clock::unix_ms(), true, answers)]);
    }
}
