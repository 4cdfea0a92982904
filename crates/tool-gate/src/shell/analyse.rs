//! Walks a script, keeps what is known of variables and the current folder, and collects what the script does.
//!
//! | part | what it follows |
//! |---|---|
//! | `walk` | lists, pipelines, loops, branches and jumps: which state holds at each place |
//! | `simple` | one command: assignments, redirections, the program and its input |
//! | `evaluate` | words: what they become, as far as that is known |
//! | `arithmetic`, `test` | expressions, which evaluate text once more |
//! | `loops` | which loops cannot end |
//! | `paths` | which files are read |
//! | `harden` | what is inserted so that the command does no more than the gate proved |

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

use super::printed::Printed;
use super::read::Reading;
use super::script::{Script, Span};
use super::value::Value;
use super::{Access, Extent, Findings, Judged};
use crate::{Effect, EffectKind, GateContext, ReadNames};
use harden::Hardening;
pub(crate) use state::{Folder, State};

/// The most work for one text. A loop counts as often as it is walked. One unit is a word that is looked at, a
/// variable that is copied, or [`BYTES_A_UNIT`] bytes that are put together.
const MAX_WORK: usize = 32 * 1024;
/// The most programs that start one another, as in `env nice ls`.
const MAX_PROGRAMS: usize = 16;
/// The work that remembering a path counts for.
const PATH_WORK: usize = 4;
const BYTES_A_UNIT: usize = 64;

/// Finds out what a script would do.
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
        work: 0,
        programs: 0,
        known_paths: BTreeSet::new(),
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
        // Everything that the reader saw must have been walked, whatever else was found.
        judge.unknown("a substitution is in a place that is not understood", (0, text.len()));
    }
    judge.findings()
}

/// What a `read` does with blanks at the ends of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    /// It keeps them, because `IFS=` stands before it.
    Kept,
    /// It removes them, unless `IFS=` is inserted at this offset.
    Cut(usize),
    Unknown,
}

/// What is known while a script is walked, and what was found so far.
pub(crate) struct Judge<'a> {
    pub(crate) context: &'a GateContext,
    text: &'a str,
    reading: &'a Reading,
    pub(super) effects: Vec<Effect>,
    accesses: Vec<Access>,
    writes: Vec<WorkspacePath>,
    limit: bool,
    work: usize,
    /// How many programs are being judged inside one another, each started by the one before.
    programs: usize,
    /// The content of [`accesses`](Self::accesses), to keep it free of repetitions.
    known_paths: BTreeSet<(WorkspacePath, Extent, ReadNames)>,
    /// Loops that were judged already: whether a loop ends does not change from walk to walk.
    /// How many lists enclose the one that is walked.
    depth: usize,
    pub(crate) state: State,
    /// The states at jumps out of the body of the loop that is walked, each with whether the jump may leave enclosing
    /// loops too.
    jumps: Vec<(State, bool)>,
    /// The states in which an expansion may fail, which ends everything up to the next line.
    failures: Vec<State>,
    /// The folders in which a failing `cd` leaves the shell.
    pub(crate) failed_folders: Option<Vec<Folder>>,
    /// What is known of the lines that the current command reads from a pipe.
    pub(crate) input: Value,
    /// What the command before this one in a pipeline prints.
    pub(crate) piped: Option<Printed>,
    /// What the last command prints, and where a filter can be inserted behind it.
    pub(crate) printed: Option<Printed>,
    printed_end: usize,
    /// Whether the current program may read its standard input, and stop anywhere within a line.
    pub(crate) reads_input: bool,
    line_ends: LineEnds,
    hardening: Hardening,
    /// The substitutions that were walked, by their addresses.
    substitutions: BTreeSet<*const Script>,
    /// The commands that were judged, and the policies that decided about them.
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

    /// Counts work. `false` if the limit is reached, and then nothing is looked at any more.
    pub(crate) fn spend(&mut self, units: usize, span: Span) -> bool {
        self.work = self.work.saturating_add(units);
        if MAX_WORK < self.work && !self.limit {
            self.limit = true;
            // This effect comes first, because the first one is the reason that the user is told.
            let detail = "there is too much to walk through".to_owned();
            self.effects.insert(0, Effect { kind: EffectKind::Unknown, detail, span: Some(span) });
        }
        !self.limit
    }

    /// Whether a limit stopped the judgement. What is found after that changes nothing.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit
    }

    /// Judges a program with this many words, unless that exceeds the limit of work.
    pub(crate) fn start(&mut self, words: usize, span: Span, judge: impl FnOnce(&mut Self)) {
        self.programs += 1;
        if MAX_PROGRAMS < self.programs {
            self.work = MAX_WORK;
        }
        if self.spend(1 + words / 4, span) {
            judge(self);
        }
        self.programs -= 1;
    }

    /// A copy of the current state, counted as work.
    fn saved(&mut self) -> State {
        self.spend(self.state.variables.len(), (0, self.text.len()));
        self.state.clone()
    }

    fn findings(mut self) -> Findings {
        // An insertion between backquotes may contain commas, and bash takes commas between braces for a brace
        // expansion.
        if self.hardening.changes_text() && self.text.contains('{') && self.text.contains('`') {
            let all = (0, self.text.len());
            self.unknown("braces and backquotes: its hardened form could mean something else", all);
        }
        Findings {
            effects: self.effects,
            limit: self.limit,
            accesses: self.accesses,
            writes: self.writes,
            hardened: self.hardening.finish(self.text, &self.context.workspace, self.judged.shows_settings),
            judged: self.judged,
            length: self.text.len(),
        }
    }
}
