//! What a shell command would do.

mod analyse;
mod by_policy;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod checks;
mod cross_check;
mod data_parts;
mod judged;
pub(crate) mod names;
mod options;
mod printed;
mod read;
mod script;
#[cfg(feature = "tool-policies")]
mod simple_commands;
mod table;
mod value;

use headstart_workspace_path::WorkspacePath;

pub(crate) use cross_check::CrossCheck;
pub(crate) use data_parts::{DataPart, data_parts};
pub(crate) use judged::Judged;
#[cfg(feature = "tool-policies")]
pub(crate) use simple_commands::{SimpleCommands, simple_commands};

pub(crate) use crate::Extent;
use crate::{CommandRead, Effect, EffectKind, GateContext, Hardened, ReadNames};
pub(crate) use script::Span;
use table::foreign;
pub use table::{KnownProgram, ProgramKind, known_programs};

/// A path that a command reads.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) path: WorkspacePath,
    /// How much is read below `path`, whichever names it stands for.
    pub(crate) extent: Extent,
    /// How much is read of each of the names.
    pub(crate) of_each: Extent,
    pub(crate) names: ReadNames,
    pub(crate) span: Span,
}

impl Access {
    pub(crate) fn exact(path: WorkspacePath, extent: Extent, span: Span) -> Self {
        Self { path, extent, of_each: extent, names: ReadNames::Path, span }
    }

    pub(crate) fn as_read(&self) -> CommandRead {
        CommandRead { path: self.path.clone(), extent: self.of_each, names: self.names.clone() }
    }
}

/// Everything known about a command. Without effects, it only reads.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) effects: Vec<Effect>,
    /// Whether a limit stopped the judgement.
    pub(crate) limit: bool,
    pub(crate) accesses: Vec<Access>,
    /// Files that redirections write, where they are known.
    pub(crate) writes: Vec<WorkspacePath>,
    pub(crate) hardened: Option<Hardened>,
    /// The length of the text in bytes.
    pub(crate) length: usize,
    pub(crate) judged: Judged,
}

/// What `text` would do in `directory`.
pub(crate) fn classify(
    text: &str,
    directory: WorkspacePath,
    context: &GateContext,
    cross_check: &mut CrossCheck,
) -> Findings {
    let unknown = |detail: &str, span: Span, limit: bool| Findings {
        effects: vec![Effect { kind: EffectKind::Unknown, detail: detail.to_owned(), span: Some(span) }],
        limit,
        length: text.len(),
        ..Findings::default()
    };
    let foreign = |(kind, detail): (EffectKind, &str)| Findings {
        effects: vec![Effect { kind, detail: detail.to_owned(), span: Some((0, text.len())) }],
        length: text.len(),
        ..Findings::default()
    };
    let reading = match read::read(text) {
        Ok(reading) => reading,
        Err(refusal) => {
            if let Some(found) = foreign::recognise(text).filter(|_| !refusal.limit) {
                return foreign(found);
            }
            let span = if refusal.limit {
                // The text behind the limit was not looked at.
                (floor(text, refusal.at), text.len())
            } else {
                character_at(text, refusal.at)
            };
            return unknown(refusal.detail, span, refusal.limit);
        }
    };
    let mut findings = analyse::analyse(text, &reading, directory, context);
    if !findings.effects.is_empty() {
        if let Some(found) = foreign::recognise(text) {
            return Findings { writes: findings.writes, accesses: findings.accesses, ..foreign(found) };
        }
        findings.effects.iter_mut().for_each(|effect| place(effect, text));
        return findings;
    }
    if let Some(found) = foreign::marks(text) {
        return foreign(found);
    }
    match cross_check.agrees(text, &reading) {
        Ok(()) => findings,
        Err(doubt) => {
            let mut doubtful = unknown(doubt.detail, doubt.span, doubt.limit);
            doubtful.effects.iter_mut().for_each(|effect| place(effect, text));
            Findings { accesses: findings.accesses, ..doubtful }
        }
    }
}

/// The character at an offset; at the end the last one.
fn character_at(text: &str, at: usize) -> Span {
    let start = floor(text, at.min(text.len().saturating_sub(1)));
    (start, ceil(text, start + 1))
}

/// Gives an effect a span that can be highlighted. An effect without a span of its own concerns the whole text.
fn place(effect: &mut Effect, text: &str) {
    let whole = (0, text.len());
    let (start, end) = effect.span.filter(|span| span.0 < span.1).unwrap_or(whole);
    effect.span = Some((floor(text, start), ceil(text, end)));
}

/// The start of the character at an offset.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The end of the character before an offset.
fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
