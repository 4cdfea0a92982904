//! Lists, pipelines, loops and branches: keeps the state that holds at each place, whichever way the shell came
//! there.

use std::rc::Rc;

use super::{Judge, MAX_WORK, State};
use crate::EffectKind;
use crate::shell::printed::{Names, Printed};
use crate::shell::script::{Command, CommandKind, Item, Pipeline, RedirectKind, Script, Span, Word};
use crate::shell::value::{Arg, Value};

/// The work that a command counts for, besides its words.
const COMMAND_WORK: usize = 4;
/// How often the body of a loop is walked at most, until a round teaches nothing new.
const MAX_ROUNDS: usize = 3;
/// A loop over at most this many known words is walked once for each word.
const MAX_UNROLLED: usize = 8;
/// The most states that are kept apart where expansions may fail.
const MAX_FAILURES: usize = 16;

impl Judge<'_> {
    pub(crate) fn script(&mut self, script: &Script) {
        self.depth += 1;
        let mut before: Option<&Item> = None;
        for item in &script.items {
            if self.limit {
                break;
            }
            if let Some(before) = before.replace(item) {
                self.next_line(before, item);
            }
            if item.background {
                self.in_subshell(|judge| judge.item(item));
                self.printed = None;
            } else {
                self.item(item);
            }
        }
        if script.items.len() != 1 {
            self.printed = None;
        }
        self.depth -= 1;
    }

    /// An expansion that fails ends what stands on its line, and the shell goes on with the next line.
    fn next_line(&mut self, before: &Item, item: &Item) {
        if self.failures.is_empty() {
            return;
        }
        let last = before.rest.last().map_or(&before.first, |(_, pipeline)| pipeline);
        let end = last.stages.last().map_or(0, |stage| stage.span.1);
        let start = item.first.stages.first().map_or(usize::MAX, |stage| stage.span.0);
        if self.text.get(end..start).is_some_and(|between| !between.contains('\n')) {
            return;
        }
        for place in 0..self.failures.len() {
            let state = self.failures[place].clone();
            self.spend(state.variables.len(), (0, 0));
            self.state.join(state);
        }
        if self.depth == 1 {
            self.failures.clear();
        }
    }

    /// Notes that the expansion that is being evaluated may fail.
    pub(super) fn may_fail(&mut self) {
        if self.failures.contains(&self.state) {
            return;
        }
        if MAX_FAILURES < self.failures.len() {
            let state = self.saved();
            self.failures[0].join(state);
        } else {
            let state = self.saved();
            self.failures.push(state);
        }
    }

    /// Runs `walk` on a copy of the state, as a subshell does.
    pub(crate) fn in_subshell(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.saved();
        let failures = self.failures.len();
        walk(self);
        self.state = before;
        self.failures.truncate(failures);
        self.failed_folders = None;
    }

    /// Walks the commands of a substitution.
    pub(super) fn substitution(&mut self, script: &Rc<Script>) {
        self.substitutions.insert(Rc::as_ptr(script));
        self.in_subshell(|judge| judge.script(script));
    }

    fn item(&mut self, item: &Item) {
        self.failed_folders = None;
        self.pipeline(&item.first);
        if item.rest.is_empty() {
            if let Some(folders) = self.failed_folders.take() {
                self.state.add_folders(folders);
            }
            return;
        }
        let (mut done, mut failed) = self.ends();
        done.narrow(self.proven_by(&item.first));
        for (and, pipeline) in &item.rest {
            if self.limit {
                return;
            }
            self.spend(self.state.variables.len(), (0, 0));
            // A skipped pipeline changes neither the state nor whether the command before it succeeded.
            self.state = if *and { done.clone() } else { failed.clone() };
            self.pipeline(pipeline);
            let (mut new_done, new_failed) = self.ends();
            new_done.narrow(self.proven_by(pipeline));
            if *and {
                done = new_done;
                failed.join(new_failed);
            } else {
                failed = new_failed;
                done.join(new_done);
            }
        }
        self.state = done;
        self.state.join(failed);
        self.printed = None;
    }

    /// The state in which the last command succeeded, and the one in which it failed.
    fn ends(&mut self) -> (State, State) {
        let done = self.saved();
        let mut failed = self.saved();
        if let Some(folders) = self.failed_folders.take() {
            failed.folders = folders;
        }
        (done, failed)
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if let [only] = pipeline.stages.as_slice() {
            self.piped = None;
            self.command(only);
            self.printed_end = only.span.1;
            if let Some(folders) = self.failed_folders.as_mut().filter(|_| pipeline.negated) {
                // A negated command succeeds where the command itself fails.
                std::mem::swap(folders, &mut self.state.folders);
            }
            return;
        }
        let mut outer = self.input.clone();
        let mut lines = outer.clone();
        let mut piped = None;
        for (place, stage) in pipeline.stages.iter().enumerate() {
            if self.limit {
                return;
            }
            let takes = matches!(stage.kind, CommandKind::Simple { .. } | CommandKind::While { .. });
            self.input = if takes { lines.clone() } else { Value::ANY };
            self.piped = piped;
            self.in_subshell(|judge| judge.command(stage));
            if place == 0 {
                outer = std::mem::replace(&mut self.input, Value::ANY);
            }
            self.printed_end = stage.span.1;
            let next = pipeline.stages.get(place + 1).map_or(stage.span.1, |next| next.span.0);
            let joint = self.text.get(stage.span.1..next).unwrap_or_default();
            if joint.contains('&') {
                // With `|&` the errors go into the pipe too.
                self.printed = with_errors(self.printed);
            }
            piped = self.printed;
            if place + 1 < pipeline.stages.len() {
                lines = self.printed_lines();
            }
        }
        self.input = outer;
    }

    fn command(&mut self, command: &Command) {
        if !self.spend(COMMAND_WORK, command.span) {
            return;
        }
        self.check_order(command);
        let piped = self.piped.take();
        self.printed = None;
        let mut input = None;
        let mut errors_too = false;
        for redirect in &command.redirects {
            if let Some(new) = self.redirect(redirect) {
                input = Some(new);
            }
            errors_too |= match &redirect.kind {
                RedirectKind::Duplicate => true,
                RedirectKind::Write(word) => word.bare() != Some("/dev/null"),
                _ => false,
            };
        }
        // A redirection that fails keeps the command from running.
        let skipped = may_be_skipped(command).then(|| self.saved());
        match input {
            None => {
                self.piped = piped;
                self.command_kind(command);
            }
            Some(input) => {
                let outer = std::mem::replace(&mut self.input, input);
                self.command_kind(command);
                self.input = outer;
            }
        }
        self.piped = None;
        if let Some(skipped) = skipped {
            self.state.join(skipped);
        }
        let keeps_form = matches!(
            command.kind,
            CommandKind::Simple { .. } | CommandKind::Group(_) | CommandKind::Subshell(_)
        );
        if !keeps_form {
            self.printed = None;
        } else if errors_too {
            self.printed = with_errors(self.printed);
        }
    }

    /// Stops at a loop that says itself that it never ends. Any other may be long, and the executor's time limit ends it.
    fn loop_without_end(&mut self, is_constant: bool, span: Span) {
        let text = self.text.get(span.0..span.1).unwrap_or_default();
        if is_constant && !["break", "exit", "return"].iter().any(|leaves| text.contains(leaves)) {
            self.refuse(EffectKind::NonTerminating, "a loop that nothing ends", span);
        }
    }

    fn command_kind(&mut self, command: &Command) {
        match &command.kind {
            CommandKind::Simple { assignments, words } => self.simple(assignments, words),
            CommandKind::Subshell(script) => self.in_subshell(|judge| judge.script(script)),
            CommandKind::Group(script) => self.script(script),
            CommandKind::If { branches, otherwise } => self.if_command(branches, otherwise.as_ref()),
            CommandKind::While { condition, body } => {
                let until = self.text.get(command.span.0..).is_some_and(|text| text.starts_with("until"));
                self.loop_without_end(is_constant(condition, until), command.span);
                self.repeated(|judge| {
                    judge.script(condition);
                    judge.jump(false);
                    judge.script(body);
                });
            }
            CommandKind::Counted { start, condition, step, body } => {
                self.arithmetic(start);
                self.loop_without_end(condition.tokens.is_empty(), command.span);
                self.repeated(|judge| {
                    judge.arithmetic(condition);
                    judge.jump(false);
                    judge.script(body);
                    judge.arithmetic(step);
                });
            }
            CommandKind::For { name, words, body } => self.for_command(name, words, body, command.span),
            CommandKind::Case { subject, arms } => {
                self.text(subject);
                let mut ends = Vec::new();
                for (patterns, body) in arms {
                    for pattern in patterns {
                        if self.limit {
                            return;
                        }
                        self.text(pattern);
                        ends.push(self.saved());
                    }
                    let tested = self.saved();
                    // Any of the patterns may be the one that matches.
                    let first = ends.len() - patterns.len();
                    for state in &ends[first..] {
                        self.spend(state.variables.len(), command.span);
                        self.state.join(state.clone());
                    }
                    self.script(body);
                    ends.push(std::mem::replace(&mut self.state, tested));
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
            let tested = self.saved();
            if let [Item { first, rest, background: false }] = condition.items.as_slice()
                && rest.is_empty()
            {
                self.state.narrow(self.proven_by(first));
            }
            self.script(body);
            ends.push(std::mem::replace(&mut self.state, tested));
        }
        if let Some(otherwise) = otherwise {
            self.script(otherwise);
        }
        self.join_all(ends);
    }

    fn for_command(&mut self, name: &str, words: &[Word], body: &Script, span: Span) {
        let args = self.args(words);
        let known: Option<Vec<Vec<u8>>> = args.iter().map(|arg| arg.bytes().map(<[u8]>::to_vec)).collect();
        if let Some(known) = known.filter(|known| known.len() <= MAX_UNROLLED && self.work < MAX_WORK / 8) {
            return self.unrolled(name, known, body, span);
        }
        let values = args.iter().map(Arg::to_value);
        let Some(value) = values.reduce(|all, value| all.join(&value)) else { return };
        let before = self.saved();
        self.assign(name, value, span);
        let value = self.state.variables.get(name).cloned();
        let relative = |word: &Word| {
            let pattern = self.as_pattern(self.source(word.span))?;
            (!pattern.starts_with('/') && !pattern.contains("..")).then(|| pattern.to_owned())
        };
        let patterns: Option<Vec<String>> = words.iter().map(relative).collect();
        self.repeated(|judge| {
            if let Some(value) = &value {
                judge.state.set(name, value.clone());
            }
            if let Some(patterns) = &patterns {
                judge.state.set_patterns(name, patterns.clone());
            }
            judge.script(body);
        });
        if args.iter().all(|arg| arg.many) {
            // The list of words may be empty, and then the body never runs.
            self.state.join(before);
        }
    }

    /// Walks the body of a loop once for each of the values, in their order.
    fn unrolled(&mut self, name: &str, values: Vec<Vec<u8>>, body: &Script, span: Span) {
        let outer = std::mem::take(&mut self.jumps);
        let mut inserted = None;
        for value in values {
            if self.limit {
                break;
            }
            self.assign(name, Value::Exact(value), span);
            let before = std::mem::take(&mut self.hardening.touched);
            self.script(body);
            let touched = self.hardening.touched.clone();
            if inserted.as_ref().is_some_and(|inserted| *inserted != touched) && !self.limit {
                // An insertion would apply to every round, also to those in which the command was proved without it.
                self.unknown("a command that would have to run in two ways", span);
            }
            self.hardening.touched.extend(before);
            inserted = Some(touched);
            // A jump may lead to the next value, or behind the loop.
            for place in 0..self.jumps.len() {
                let (state, _) = self.jumps[place].clone();
                self.spend(state.variables.len(), span);
                self.state.join(state);
            }
        }
        let far = std::mem::replace(&mut self.jumps, outer).into_iter().filter(|(_, far)| *far);
        self.jumps.extend(far);
    }

    /// Notes that the shell may go on behind the loop from here, or at its start. `far`: possibly behind several
    /// loops.
    pub(crate) fn jump(&mut self, far: bool) {
        let state = self.saved();
        self.jumps.push((state, far));
    }

    /// Walks the body of a loop until the state at its start no longer changes.
    fn repeated(&mut self, walk: impl Fn(&mut Self)) {
        for round in 0.. {
            let (before, input) = (self.saved(), self.input.clone());
            let outer = std::mem::take(&mut self.jumps);
            walk(self);
            for (state, far) in std::mem::replace(&mut self.jumps, outer) {
                self.state.join(state.clone());
                if far {
                    self.jumps.push((state, far));
                }
            }
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
        for end in ends {
            self.state.join(end);
        }
    }
}

/// Whether a condition is a word that always holds, or for `until` never.
fn is_constant(condition: &Script, until: bool) -> bool {
    let [Item { first: Pipeline { stages, negated }, rest, .. }] = condition.items.as_slice() else {
        return false;
    };
    let [Command { kind: CommandKind::Simple { assignments, words }, .. }] = stages.as_slice() else {
        return false;
    };
    let [word] = words.as_slice() else { return false };
    let holds = match word.bare() {
        Some("false") => *negated != until,
        Some(":" | "true") => *negated == until,
        _ => false,
    };
    holds && rest.is_empty() && assignments.is_empty()
}

/// What is printed if errors are among it: their lines contain words of the command and names of files.
fn with_errors(printed: Option<Printed>) -> Option<Printed> {
    match printed? {
        Printed::Names(names) if !names.nul => {
            Some(Printed::Names(Names { clean: false, begun: false, ..names }))
        }
        _ => None,
    }
}

/// Whether a command that changes the state has a redirection that may fail, which keeps it from running.
fn may_be_skipped(command: &Command) -> bool {
    let changes = match &command.kind {
        // Bash assigns even if the redirection fails.
        CommandKind::Simple { words, .. } => {
            let changing = [
                "cd",
                "pushd",
                "popd",
                "read",
                "mapfile",
                "readarray",
                "export",
                "unset",
                "command",
                "builtin",
                "time",
            ];
            words.first().is_some_and(|word| word.bare().is_none_or(|name| changing.contains(&name)))
        }
        _ => true,
    };
    let may_fail = |kind: &RedirectKind| !matches!(kind, RedirectKind::Write(_) | RedirectKind::Text(_));
    changes && command.redirects.iter().any(|redirect| may_fail(&redirect.kind))
}
