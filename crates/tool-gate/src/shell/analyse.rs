//! Walks a script, keeps what is known of variables and the current folder, and collects what is done.
//!
//! | part | what it follows |
//! |---|---|
//! | `walk` | lists, pipelines, loops, branches and jumps: which state holds where |
//! | `simple` | one command: assignments, redirections, the program and its input |
//! | `evaluate` | words: what they become, as far as that is known |
//! | `arithmetic`, `test` | expressions, which evaluate text once more |
//! | `paths` | which files are read |
//! | `harden` | what is inserted so that the command does no more than was proved |

mod arithmetic;
mod evaluate;
mod harden;
mod paths;
mod simple;
mod state;
mod test;
mod walk;

use std::collections::BTreeSet;

use headstart_workspace_path::WorkspacePath;

use super::read::Reading;
use super::script::{Script, Span};
use super::table::lines::Printed;
use super::value::Value;
use super::{Access, Findings, Judged};
use crate::{Effect, EffectKind, GateContext};
use harden::Hardening;
pub(crate) use state::{Folder, State};

/// What a script would do.
pub(crate) fn analyse(
    text: &str,
    reading: &Reading,
    directory: WorkspacePath,
    context: &GateContext,
) -> Findings {
    let mut judge = Judge {
        context,
        text,
        reading,
        effects: Vec::new(),
        accesses: Vec::new(),
        writes: Vec::new(),
        limit: false,
        steps: 0,
        depth: 0,
        state: State::new(directory),
        jumps: Vec::new(),
        failures: Vec::new(),
        failed_folders: None,
        input: Value::ANY,
        piped: None,
        printed: None,
        printed_end: 0,
        reads_input: false,
        line_ends: LineEnds::Unknown,
        hardening: Hardening::default(),
        substitutions: BTreeSet::new(),
        judged: Judged::default(),
    };
    judge.script(&reading.script);
    if judge.substitutions.len() != reading.substitution_count && !judge.limit {
        // Whatever the reason is: what the reader has seen must have been looked at.
        judge.unknown("a substitution is in a place that is not understood", (0, text.len()));
    }
    judge.findings()
}

/// What a `read` does with the blanks at the ends of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    /// It keeps them: `IFS=` is there.
    Kept,
    /// It takes them off, unless `IFS=` is inserted here.
    Cut(usize),
    Unknown,
}

/// What is known while a script is walked.
pub(crate) struct Judge<'a> {
    pub(crate) context: &'a GateContext,
    text: &'a str,
    reading: &'a Reading,
    pub(super) effects: Vec<Effect>,
    accesses: Vec<Access>,
    writes: Vec<WorkspacePath>,
    limit: bool,
    steps: usize,
    /// How many lists the one that is walked stands in.
    depth: usize,
    pub(crate) state: State,
    /// The states at jumps out of the body of the loop that is walked, and whether they may leave further loops.
    jumps: Vec<(State, bool)>,
    /// The states where an expansion may fail, which ends everything up to the next line.
    failures: Vec<State>,
    /// Where a `cd` that fails leaves the shell.
    pub(crate) failed_folders: Option<Vec<Folder>>,
    /// What is known of the lines that the current command reads from a pipe.
    pub(crate) input: Value,
    /// What the command before this one in a pipeline prints.
    pub(crate) piped: Option<Printed>,
    /// What the last command prints, and where a filter could be inserted behind it.
    pub(crate) printed: Option<Printed>,
    printed_end: usize,
    /// Whether the current program may read its standard input, and leave it anywhere in a line.
    pub(crate) reads_input: bool,
    line_ends: LineEnds,
    hardening: Hardening,
    /// The substitutions that were walked, by their address.
    substitutions: BTreeSet<*const Script>,
    /// Which commands there are, and which policies decided.
    pub(super) judged: Judged,
}

impl Judge<'_> {
    /// Records something that is more than reading.
    pub(crate) fn refuse(&mut self, kind: EffectKind, detail: impl Into<String>, span: Span) {
        let effect = Effect { kind, detail: detail.into(), span: Some(span) };
        if self.effects.len() < 32 && !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }

    pub(crate) fn unknown(&mut self, detail: impl Into<String>, span: Span) {
        self.refuse(EffectKind::Unknown, detail, span);
    }

    fn findings(self) -> Findings {
        Findings {
            effects: self.effects,
            limit: self.limit,
            accesses: self.accesses,
            writes: self.writes,
            hardened: self.hardening.finish(self.text),
            judged: self.judged,
            length: self.text.len(),
        }
    }
}
