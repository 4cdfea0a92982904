//! Functions with which the commands read and write the ledger of a project.

use headstart_budget::ledger::{Entry, Outcome, Source};
use headstart_budget::{EntryBuilder, outcome};
use headstart_overlay_fs::ContentHash;
use headstart_speculation::{Cost, Status};

use crate::clock;
use crate::config::{Config, Flags, LedgerDetail};
use crate::context::Context;
use crate::error::CliError;
use crate::ledger::Ledger;
use crate::output;
use crate::secrets;
use crate::store::Record;

/// The ledger of a workspace. Without a state folder nothing is recorded.
pub fn ledger_of(context: &Context, config: &Config, workspace: &str) -> Result<Ledger, CliError> {
    match context.store() {
        Ok(store) => Ok(Ledger::of(&store, workspace, config.ledger)),
        Err(CliError::NoStateDir) => Ok(Ledger::without_file()),
        Err(error) => Err(error),
    }
}

/// The builder of ledger entries, with the models and prices of the configuration.
pub fn entries_of(context: &Context, config: &Config, source: Source) -> EntryBuilder {
    let entries = EntryBuilder::new(source, config.tariff());
    match config.ledger {
        LedgerDetail::Prompts => entries.with_prompts(secrets::scrubber(&context.environment)),
        _ => entries,
    }
}

/// Records that changes without a stored speculation were undone, if they came from a suggestion.
pub fn undone(context: &Context, workspace: &str, changes: ContentHash) {
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

/// Records the outcome of a stored speculation. The command has already done its work, so an error here is only
/// reported as a remark.
pub fn decided(context: &Context, record: &Record, decision: (Outcome, u64)) {
    let config = context.config(&Flags::default(), record.workspace.as_ref());
    let ledger = config.and_then(|config| Ok((ledger_of(context, &config, &record.workspace)?, config)));
    let (ledger, config) = match ledger {
        Ok(ledger) => ledger,
        Err(error) => return output::note(&format!("nothing of this is in the ledger: {error}")),
    };
    let (id, now) = (record.id.as_str(), clock::unix_ms());
    let mut entries = Vec::new();
    if record.finished.is_none() {
        // The process died before it could record the cost, so only the existence of the speculation is recorded.
        let makes = entries_of(context, &config, Source::Command).with_background(&record.model);
        entries.push(makes.speculation(now, id, &record.prompt, &Cost::default(), Status::Running));
    }
    entries.push(outcome(now, id, decision.0, decision.1));
    ledger.note(&entries);
}

/// Records how many of another model's own answers work ahead leaves out, if there are any.
pub fn note_left_out(ledger: &Ledger, entries: &EntryBuilder, answers: usize) {
    if 0 < answers {
        ledger.note(&[entries.left_out(clock::unix_ms(), true, answers)]);
    }
}
