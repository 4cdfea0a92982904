//! What a shell command would do.

mod analyse;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod checks;
mod options;
mod read;
mod script;
mod table;
mod value;
mod witness;

use headstart_workspace_path::WorkspacePath;

pub(crate) use witness::Witness;

use crate::{Effect, EffectKind, GateContext, Hardened};
use script::Span;

/// How much of a path is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extent {
    /// This file.
    File,
    /// Everything below this folder, or names in it that are not known.
    Below,
    /// Only the names of what is below this folder.
    Names,
}

/// A path that a command reads.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) path: WorkspacePath,
    pub(crate) extent: Extent,
    pub(crate) span: Span,
}

/// Everything there is to say of a command; without an effect it only reads.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) effects: Vec<Effect>,
    /// Whether a limit stopped the judgement.
    pub(crate) limit: bool,
    pub(crate) accesses: Vec<Access>,
    /// Files that redirections write, where they are known.
    pub(crate) writes: Vec<WorkspacePath>,
    pub(crate) hardened: Option<Hardened>,
}

/// What `text` would do in `directory`.
pub(crate) fn classify(
    text: &str,
    directory: WorkspacePath,
    context: &GateContext,
    witness: &mut Witness,
) -> Findings {
    let unknown = |detail: &str, span: Option<Span>, limit: bool| Findings {
        effects: vec![Effect { kind: EffectKind::Unknown, detail: detail.to_owned(), span }],
        limit,
        ..Findings::default()
    };
    let reading = match read::read(text) {
        Ok(reading) => reading,
        Err(refusal) => {
            let at = refusal.at.min(text.len());
            return unknown(refusal.detail, Some((at, at)), refusal.limit);
        }
    };
    let findings = analyse::analyse(text, &reading, directory, context);
    if !findings.effects.is_empty() {
        return findings;
    }
    match witness.agrees(text, &reading) {
        Ok(()) => findings,
        Err(doubt) => Findings { accesses: findings.accesses, ..unknown(doubt.detail, None, doubt.limit) },
    }
}
