//! Walks a script, keeps what is known of variables and the current folder, and collects what is done.

mod evaluate;
mod paths;
mod state;
mod test;

use std::collections::{BTreeMap, BTreeSet};

use headstart_workspace_path::WorkspacePath;

use super::read::Reading;
use super::script::{
    Arithmetic, ArithmeticToken, Assignment, Command, CommandKind, Item, Pipeline, Redirect, RedirectKind,
    Script, Span, Word,
};
use super::value::{Arg, Shape, Value};
use super::{Access, Extent, Findings, table};
use crate::environment::is_special_variable;
use crate::{Effect, EffectKind, GateContext, Hardened};
pub(crate) use state::{Folder, State};

/// Most work, loops counted as often as they are walked. A unit is a word that is looked at, a variable that is copied,
/// or [`BYTES_A_UNIT`] that are put together.
const MAX_WORK: usize = 32 * 1024;
/// What a command costs beside its words.
const COMMAND_WORK: usize = 4;
/// Most programs that start one another, as in `env nice ls`.
const MAX_PROGRAMS: usize = 16;
/// What a path costs that is remembered.
const PATH_WORK: usize = 4;
const BYTES_A_UNIT: usize = 64;
/// How often the body of a loop is walked until nothing new is learnt.
const MAX_ROUNDS: usize = 3;

/// Programs that leave their standard input alone, or read whole lines of it.
const KEEPS_INPUT: [&str; 16] = [
    ":", "[", "basename", "break", "cd", "continue", "date", "dirname", "echo", "exit", "false", "printf",
    "pwd", "read", "test", "true",
];

/// What a script would do.
pub(crate) fn analyse(
    text: &str,
    reading: &Reading,
    directory: WorkspacePath,
    context: &GateContext,
) -> Findings {
    let mut judge = Judge {
        context,
        reading,
        effects: Vec::new(),
        accesses: Vec::new(),
        writes: Vec::new(),
        limit: false,
        work: 0,
        programs: 0,
        known_paths: BTreeSet::new(),
        judged_loops: BTreeSet::new(),
        state: State::new(directory),
        input: Value::ANY,
        failed_folders: None,
        edits: BTreeMap::new(),
        environment: BTreeMap::new(),
    };
    judge.script(&reading.script);
    judge.findings(text)
}

/// What is known while a script is walked.
pub(crate) struct Judge<'a> {
    pub(crate) context: &'a GateContext,
    reading: &'a Reading,
    effects: Vec<Effect>,
    accesses: Vec<Access>,
    writes: Vec<WorkspacePath>,
    limit: bool,
    work: usize,
    /// How many programs are being judged, each started by the one before.
    programs: usize,
    /// What [`accesses`](Self::accesses) holds.
    known_paths: BTreeSet<(WorkspacePath, Extent)>,
    /// Loops of which it is known whether they end: that does not change from walk to walk.
    judged_loops: BTreeSet<Span>,
    pub(crate) state: State,
    /// What is known of the lines that the current command reads from a pipe.
    pub(crate) input: Value,
    /// Where a `cd` that fails leaves the shell.
    pub(crate) failed_folders: Option<Vec<Folder>>,
    /// Text to insert for the hardened form, by place.
    edits: BTreeMap<usize, String>,
    environment: BTreeMap<String, String>,
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

    /// The hardened form has `text` inserted at `at`.
    pub(crate) fn insert(&mut self, at: usize, text: String) {
        self.edits.insert(at, text);
    }

    pub(crate) fn set_environment(&mut self, pairs: impl IntoIterator<Item = (String, String)>) {
        self.environment.extend(pairs);
    }

    /// Counts work; `false` when there is too much of it, and then nothing is looked at any more.
    pub(crate) fn spend(&mut self, units: usize, span: Span) -> bool {
        self.work = self.work.saturating_add(units);
        if MAX_WORK < self.work && !self.limit {
            self.limit = true;
            // First of all effects, so that it is the reason that is told.
            let detail = "there is too much to walk through".to_owned();
            self.effects.insert(0, Effect { kind: EffectKind::Unknown, detail, span: Some(span) });
        }
        !self.limit
    }

    /// Whether a limit stopped the judgement; what is found from then on changes nothing.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit
    }

    /// Judges a program with so many words, unless that is too much.
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

    /// A copy of what is known here.
    fn saved(&mut self, span: Span) -> State {
        self.spend(self.state.variables.len(), span);
        self.state.clone()
    }

    fn findings(self, text: &str) -> Findings {
        let mut command = String::with_capacity(text.len());
        let mut at = 0;
        for (place, insertion) in &self.edits {
            command.push_str(text.get(at..*place).unwrap_or_default());
            command.push_str(insertion);
            at = *place;
        }
        command.push_str(text.get(at..).unwrap_or_default());
        let command = (!self.edits.is_empty()).then_some(command);
        let plain = command.is_none() && self.environment.is_empty();
        let hardened = (!plain).then_some(Hardened { environment: self.environment, command });
        Findings {
            effects: self.effects,
            limit: self.limit,
            accesses: self.accesses,
            writes: self.writes,
            hardened,
        }
    }

    pub(crate) fn script(&mut self, script: &Script) {
        for item in &script.items {
            if self.limit {
                return;
            }
            if item.background {
                self.in_subshell(|judge| judge.item(item));
            } else {
                self.item(item);
            }
        }
    }

    /// Runs `walk` on a copy of the state, as a subshell does.
    pub(crate) fn in_subshell(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.saved((0, 0));
        walk(self);
        self.state = before;
        self.failed_folders = None;
    }

    fn item(&mut self, item: &Item) {
        self.failed_folders = None;
        self.pipeline(&item.first);
        let mut elsewhere = Vec::new();
        let mut failed = self.failed_folders.take();
        for (and, pipeline) in &item.rest {
            if self.limit {
                return;
            }
            if let Some(mut old) = failed.take() {
                if !and {
                    std::mem::swap(&mut old, &mut self.state.folders);
                }
                elsewhere.extend(old);
            }
            let before = self.saved((0, 0));
            self.pipeline(pipeline);
            failed = self.failed_folders.take();
            self.state.join(before);
        }
        elsewhere.extend(failed.into_iter().flatten());
        self.state.add_folders(elsewhere);
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if let [only] = pipeline.stages.as_slice() {
            return self.command(only);
        }
        let mut outer = self.input.clone();
        let mut lines = outer.clone();
        for (place, stage) in pipeline.stages.iter().enumerate() {
            if self.limit {
                return;
            }
            let takes = matches!(stage.kind, CommandKind::Simple { .. } | CommandKind::While { .. });
            self.input = if takes { lines.clone() } else { Value::ANY };
            self.in_subshell(|judge| judge.command(stage));
            if place == 0 {
                outer = std::mem::replace(&mut self.input, Value::ANY);
                lines = Value::ANY;
            }
            lines = evaluate::lines_of(stage, &lines);
        }
        self.input = outer;
    }

    fn command(&mut self, command: &Command) {
        if !self.spend(COMMAND_WORK, command.span) {
            return;
        }
        for redirect in &command.redirects {
            self.redirect(redirect);
        }
        match evaluate::redirected_input(&command.redirects) {
            None => self.command_kind(command),
            Some(input) => {
                let outer = std::mem::replace(&mut self.input, input);
                self.command_kind(command);
                self.input = outer;
            }
        }
    }

    fn command_kind(&mut self, command: &Command) {
        match &command.kind {
            CommandKind::Simple { assignments, words } => self.simple(assignments, words),
            CommandKind::Subshell(script) => self.in_subshell(|judge| judge.script(script)),
            CommandKind::Group(script) => self.script(script),
            CommandKind::If { branches, otherwise } => self.if_command(branches, otherwise.as_ref()),
            CommandKind::While { condition, body } => {
                if self.judged_loops.insert(command.span) && !can_end(condition, body) {
                    self.refuse(
                        EffectKind::NonTerminating,
                        "a loop whose condition never changes",
                        command.span,
                    );
                }
                self.repeated(|judge| {
                    judge.script(condition);
                    judge.script(body);
                });
            }
            CommandKind::Counted { start, condition, step, body } => {
                self.arithmetic(start);
                if !counts(condition, step) {
                    self.refuse(EffectKind::NonTerminating, "a loop that may not end", command.span);
                }
                self.repeated(|judge| {
                    judge.arithmetic(condition);
                    judge.script(body);
                    judge.arithmetic(step);
                });
            }
            CommandKind::For { name, words, body } => self.for_command(name, words, body, command.span),
            CommandKind::Case { subject, arms } => {
                self.text(subject);
                let mut ends = vec![self.saved(command.span)];
                let start = self.saved(command.span);
                for (patterns, body) in arms {
                    self.state = start.clone();
                    if !self.spend(start.variables.len(), command.span) {
                        return;
                    }
                    for pattern in patterns {
                        self.text(pattern);
                    }
                    self.script(body);
                    ends.push(self.saved(command.span));
                }
                self.join_all(ends);
            }
            CommandKind::Test(tokens) => self.double_bracket(tokens, command.span),
            CommandKind::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
        }
    }

    fn if_command(&mut self, branches: &[(Script, Script)], otherwise: Option<&Script>) {
        let mut ends = Vec::new();
        for (condition, body) in branches {
            if self.limit {
                return;
            }
            self.script(condition);
            let tested = self.saved((0, 0));
            self.script(body);
            ends.push(std::mem::replace(&mut self.state, tested));
        }
        if let Some(otherwise) = otherwise {
            self.script(otherwise);
        }
        ends.push(self.saved((0, 0)));
        self.join_all(ends);
    }

    fn for_command(&mut self, name: &str, words: &[Word], body: &Script, span: Span) {
        let args = self.args(words);
        let values = args.iter().map(Arg::to_value);
        let Some(value) = values.reduce(|all, value| all.join(&value)) else { return };
        self.assign(name, value, span);
        let value = self.state.variables.get(name).cloned();
        self.repeated(|judge| {
            if let Some(value) = &value {
                judge.state.variables.insert(name.to_owned(), value.clone());
            }
            judge.script(body);
        });
    }

    /// Walks the body of a loop until the state at its start no longer grows.
    fn repeated(&mut self, walk: impl Fn(&mut Self)) {
        for round in 0.. {
            let (before, input) = (self.saved((0, 0)), self.input.clone());
            walk(self);
            self.state.join(before.clone());
            if (self.state == before && self.input == input) || self.limit {
                return;
            }
            if round == MAX_ROUNDS {
                self.state.forget_changes(&before);
            }
            if MAX_ROUNDS + 2 < round {
                return self.unknown("a loop that changes too much", (0, 0));
            }
        }
    }

    fn join_all(&mut self, ends: Vec<State>) {
        let mut ends = ends.into_iter();
        if let Some(first) = ends.next() {
            self.state = first;
        }
        for end in ends {
            self.state.join(end);
        }
    }

    fn simple(&mut self, assignments: &[Assignment], words: &[Word]) {
        if words.is_empty() {
            for assignment in assignments {
                self.assignment(assignment);
            }
            return;
        }
        let args = self.args(words);
        let Some((program, rest)) = args.split_first() else { return };
        let Some(name) = program.text() else {
            return self.refuse(
                EffectKind::Executes,
                "the program to run is chosen by an expansion",
                program.span,
            );
        };
        for assignment in assignments {
            let values: Vec<Arg> = assignment.values.iter().map(|word| self.text(word)).collect();
            let value =
                values.first().and_then(Arg::text).filter(|_| !assignment.array && !assignment.append);
            if !value.is_some_and(|value| table::is_harmless_prefix(&assignment.name, value, name)) {
                let detail = format!("{} may change what {name} does", assignment.name);
                self.refuse(EffectKind::Environment, detail, assignment.span);
            }
        }
        table::judge_program(self, name, program.span, rest, table::Caller::Shell);
        // A program that reads on may leave its input anywhere in a line.
        let named = rest.last().is_some_and(|last| !last.exact);
        if !named && !KEEPS_INPUT.contains(&name) {
            self.input = Value::ANY;
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        let mut value = Value::empty();
        for (place, word) in assignment.values.iter().enumerate() {
            let mut new: Vec<Value> = if assignment.array {
                self.args(std::slice::from_ref(word)).iter().map(Arg::to_value).collect()
            } else {
                vec![self.text(word).to_value()]
            };
            if new.is_empty() {
                new.push(Value::empty());
            }
            for (element, new) in new.into_iter().enumerate() {
                value = if place + element == 0 { new } else { value.join(&new) };
            }
            // Arithmetic may fail (a division, an octal 08); then the variable keeps what it had.
            if word.pieces.iter().any(|piece| matches!(piece, crate::shell::script::Piece::Arithmetic(_))) {
                let kept = self.state.variables.get(&assignment.name).cloned().unwrap_or_else(Value::empty);
                value = value.join(&kept);
            }
        }
        if assignment.append {
            value = Value::ANY;
        }
        if assignment.array && matches!(value, Value::Exact(_)) {
            // Elements that are not there are empty.
            value = value.join(&Value::empty());
        }
        self.assign(&assignment.name, value, assignment.span);
    }

    /// Gives a variable a value; a variable that does more than hold one is refused.
    pub(crate) fn assign(&mut self, name: &str, value: Value, span: Span) {
        if is_special_variable(name) {
            let detail = format!("{name} changes how later commands run");
            return self.refuse(EffectKind::Environment, detail, span);
        }
        self.state.variables.insert(name.to_owned(), value);
    }

    fn redirect(&mut self, redirect: &Redirect) {
        match &redirect.kind {
            RedirectKind::Duplicate | RedirectKind::DuplicateInput => {}
            RedirectKind::Other => {
                self.refuse(
                    EffectKind::WritesWorkspace,
                    "a redirection that opens a file to write",
                    redirect.span,
                );
            }
            RedirectKind::Read(word) => {
                let arg = self.arg(word);
                if arg.many {
                    return self.unknown("a redirection from a name that is not known", redirect.span);
                }
                self.read_file(&arg);
            }
            RedirectKind::Write(word) => {
                let arg = self.arg(word);
                if !arg.is("/dev/null") {
                    let shown = String::from_utf8_lossy(&arg.prefix).into_owned();
                    let kind = if arg.bytes().is_some_and(|bytes| {
                        bytes.starts_with(b"/dev/tcp/") || bytes.starts_with(b"/dev/udp/")
                    }) {
                        EffectKind::Network
                    } else if shown.starts_with('/') || arg.escapes {
                        EffectKind::WritesOutside
                    } else {
                        EffectKind::WritesWorkspace
                    };
                    let target = arg.bytes().and_then(|path| self.resolve(path, self.state.folders.first()?));
                    self.writes.extend(target);
                    self.refuse(kind, format!("writes to {shown:?}"), redirect.span);
                }
            }
            RedirectKind::Text(word) => {
                self.text(word);
            }
            RedirectKind::Document(place) => {
                let reading = self.reading;
                if let Some(body) = reading.documents.get(*place) {
                    self.text(body);
                }
            }
        }
    }

    /// Arithmetic evaluates the values of names again, so they must be numbers.
    pub(crate) fn arithmetic(&mut self, arithmetic: &Arithmetic) {
        let tokens = &arithmetic.tokens;
        for (place, token) in tokens.iter().enumerate() {
            match token {
                ArithmeticToken::Name(name) => {
                    let assigns = |at: Option<usize>| {
                        at.and_then(|at| tokens.get(at))
                            .is_some_and(|token| matches!(token, ArithmeticToken::Assign))
                    };
                    if !self.is_number(name) {
                        let detail = format!("the value of {name} is evaluated as an expression");
                        self.refuse(EffectKind::Executes, detail, arithmetic.span);
                    }
                    if assigns(place.checked_sub(1)) || assigns(place.checked_add(1)) {
                        self.assign(name, Value::Some(Shape::SIGNED), arithmetic.span);
                    }
                }
                ArithmeticToken::Value(piece) => {
                    let value = self.piece_value(piece);
                    if value.shape().not_number {
                        self.refuse(
                            EffectKind::Executes,
                            "an expansion's result is evaluated as an expression",
                            arithmetic.span,
                        );
                    }
                }
                ArithmeticToken::Number | ArithmeticToken::Assign | ArithmeticToken::Operator => {}
            }
        }
    }

    /// Whether a name in arithmetic is a number: it holds one, or it is not set at all.
    fn is_number(&self, name: &str) -> bool {
        match self.state.variables.get(name) {
            Some(value) => !value.shape().not_number || *value == Value::empty(),
            None => {
                !is_special_variable(name)
                    || matches!(name, "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID")
            }
        }
    }
}

/// Whether the step of a loop changes a variable that its condition looks at.
fn counts(condition: &Arithmetic, step: &Arithmetic) -> bool {
    let named = |name: &String| {
        condition.tokens.iter().any(|token| matches!(token, ArithmeticToken::Name(other) if other == name))
    };
    step.tokens.windows(2).any(|pair| match pair {
        [ArithmeticToken::Name(name), ArithmeticToken::Assign]
        | [ArithmeticToken::Assign, ArithmeticToken::Name(name)] => named(name),
        _ => false,
    })
}

/// Whether a loop reads its condition from input, or changes a variable that the condition looks at.
fn can_end(condition: &Script, body: &Script) -> bool {
    let reads = |script: &Script| {
        script.items.iter().any(|item| {
            item.first.stages.iter().any(|stage| match &stage.kind {
                CommandKind::Simple { words, .. } => words.first().and_then(Word::bare) == Some("read"),
                _ => false,
            })
        })
    };
    let assigned = state::assigned_names(body);
    let seen = state::seen_names(condition);
    reads(condition) || seen.iter().any(|name| assigned.contains(name))
}
