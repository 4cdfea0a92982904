//! Permission hooks: a product starts headstart before it runs a command, and a command that provably only reads is
//! allowed.
//!
//! | part | what it does |
//! |---|---|
//! | `contract` | the differences between products, one row each |
//! | `message` | reads what a product sends |
//! | `answer` | the answer to a verdict, and its JSON |
//! | `execution_context` | the conditions outside a command that a verdict depends on |
//! | `on_disk` | what the disk says of the paths that a command reads |
//! | `judge` | the verdict and the answer, with the rules of the user and the project |
//! | `record` | the record of answers in the state folder |
//! | `settings` | the entry in a product's settings |
//!
//! The first three do no IO; the fuzz target in `crates/cli/fuzz` runs them.

pub(crate) mod answer;
pub(crate) mod contract;
pub(in crate::hosts) mod execution_context;
pub(crate) mod judge;
pub(crate) mod message;
mod on_disk;
pub(crate) mod record;
pub(crate) mod settings;

use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::{clock, output};

use self::answer::render;
use self::contract::Contract;
use self::judge::AnswerFlags;
use self::message::{MAX_BYTES, NoAnswer};
use self::record::{AnswerLine, AnswerRecord};

/// Answers the message on standard input. Any failure becomes a line on standard error and no answer, so that the
/// product behaves as it would without the hook.
pub(crate) fn serve(contract: &'static Contract, flags: AnswerFlags, with_command: bool, context: &Context) {
    let started = Instant::now();
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    if let Err(error) = io::stdin().lock().take(most).read_to_end(&mut bytes) {
        return note(&format!("the message cannot be read: {error}"));
    }
    let call = match message::read(contract, &bytes) {
        Ok(call) => call,
        Err(NoAnswer::NotMeant(_)) => return,
        Err(NoAnswer::NotUnderstood(why)) => return note(&why),
    };
    let judged = match judge::judge(contract, &call, flags, context) {
        Ok(judged) => judged,
        Err(error) => return note(&error.to_string()),
    };
    if let Some(answer) = render(&judged.answer, &call)
        && let Err(error) = output::print_json(&answer)
    {
        return note(&error.to_string());
    }
    if !judged.is_kept {
        return;
    }
    let line = AnswerLine {
        at: clock::unix_ms(),
        host: contract.name,
        answer: judged.answer.name(),
        verdict: judged.elsewhere.verdict.decision,
        reason: judged.elsewhere.verdict.reason,
        ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        command: with_command.then(|| call.command()),
    };
    if let Err(error) = AnswerRecord::of(context).and_then(|records| records.add(&line)) {
        note(&format!("this answer is not on record: {error}"));
    }
}

/// The content of a file, as `read` returned it, or the default if the file does not exist.
fn or_empty<T: Default>(read: io::Result<T>, file: &Path) -> Result<T, CliError> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        read => read.map_err(CliError::io("read", file)),
    }
}

fn note(why: &str) {
    output::note(&format!("headstart hook: {}", output::one_line(why)));
}
