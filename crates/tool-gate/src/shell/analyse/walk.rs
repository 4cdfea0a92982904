//! Lists, pipelines, loops and branches: the state that holds at each place, whichever way led there.

use super::{Judge, State, state};
use crate::EffectKind;
use crate::shell::script::{
    Arithmetic, ArithmeticToken, Command, CommandKind, Item, Pipeline, RedirectKind, Script, Span, Word,
};
use crate::shell::table::lines::Printed;
use crate::shell::value::{Arg, Value};

/// Most commands that are looked at, loops counted as often as they are walked.
const MAX_STEPS: usize = 8 * 1024;
/// How often the body of a loop is walked until nothing new is learnt.
const MAX_ROUNDS: usize = 3;
/// Most states that are kept apart where expansions may fail.
const MAX_FAILURES: usize = 16;

impl Judge<'_> {
    pub(crate) fn script(&mut self, script: &Script) {
        self.depth += 1;
        let mut before: Option<&Item> = None;
        for item in &script.items {
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

    /// An expansion that failed ends what stands on its line, and the shell goes on with the next one.
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
        for state in &self.failures {
            self.state.join(state.clone());
        }
        if self.depth == 1 {
            self.failures.clear();
        }
    }

    /// The expansion that is evaluated now may fail.
    pub(super) fn may_fail(&mut self) {
        if self.failures.contains(&self.state) {
            return;
        }
        if MAX_FAILURES < self.failures.len() {
            let state = self.state.clone();
            self.failures[0].join(state);
        } else {
            self.failures.push(self.state.clone());
        }
    }

    /// Runs `walk` on a copy of the state, as a subshell does.
    pub(crate) fn in_subshell(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.state.clone();
        let failures = self.failures.len();
        walk(self);
        self.state = before;
        self.failures.truncate(failures);
        self.failed_folders = None;
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
        for (and, pipeline) in &item.rest {
            // What is skipped leaves the state, and whether the command before it succeeded, as they are.
            self.state = if *and { done.clone() } else { failed.clone() };
            self.pipeline(pipeline);
            let (new_done, new_failed) = self.ends();
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

    /// The state where the last command succeeded, and the one where it failed.
    fn ends(&mut self) -> (State, State) {
        let done = self.state.clone();
        let mut failed = done.clone();
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
                // It succeeds where the command fails.
                std::mem::swap(folders, &mut self.state.folders);
            }
            return;
        }
        let mut outer = self.input.clone();
        let mut lines = outer.clone();
        let mut piped = None;
        for (place, stage) in pipeline.stages.iter().enumerate() {
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
            if self.printed == Some(Printed::Count) && joint.contains('&') {
                // With `|&` what it says of errors goes along.
                self.printed = None;
            }
            piped = self.printed;
            if place + 1 < pipeline.stages.len() {
                lines = self.printed_lines();
            }
        }
        self.input = outer;
    }

    fn command(&mut self, command: &Command) {
        self.steps += 1;
        if MAX_STEPS < self.steps {
            self.limit = true;
            return self.unknown("there is too much to walk through", command.span);
        }
        let piped = self.piped.take();
        self.printed = None;
        let mut input = None;
        let mut errors_too = false;
        for redirect in &command.redirects {
            if let Some(new) = self.redirect(redirect) {
                input = Some(new);
            }
            errors_too |= matches!(redirect.kind, RedirectKind::Duplicate);
        }
        // A redirection that fails keeps the command from running.
        let skipped = may_be_skipped(command).then(|| self.state.clone());
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
        if !keeps_form || (errors_too && self.printed == Some(Printed::Count)) {
            self.printed = None;
        }
    }

    fn command_kind(&mut self, command: &Command) {
        match &command.kind {
            CommandKind::Simple { assignments, words } => self.simple(assignments, words),
            CommandKind::Subshell(script) => self.in_subshell(|judge| judge.script(script)),
            CommandKind::Group(script) => self.script(script),
            CommandKind::If { branches, otherwise } => self.if_command(branches, otherwise.as_ref()),
            CommandKind::While { condition, body } => {
                if !can_end(condition, body) {
                    self.refuse(
                        EffectKind::NonTerminating,
                        "a loop whose condition never changes",
                        command.span,
                    );
                }
                self.repeated(|judge| {
                    judge.script(condition);
                    judge.jump(false);
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
                        self.text(pattern);
                        ends.push(self.state.clone());
                    }
                    let tested = self.state.clone();
                    // Any of the patterns may be the one that fits.
                    let first = ends.len() - patterns.len();
                    for state in &ends[first..] {
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
            self.script(condition);
            let tested = self.state.clone();
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
        let values = args.iter().map(Arg::to_value);
        let Some(value) = values.reduce(|all, value| all.join(&value)) else { return };
        let before = self.state.clone();
        self.assign(name, value, span);
        let value = self.state.variables.get(name).cloned();
        self.repeated(|judge| {
            if let Some(value) = &value {
                judge.state.variables.insert(name.to_owned(), value.clone());
            }
            judge.script(body);
        });
        if args.iter().all(|arg| arg.many) {
            // There may be nothing to loop over.
            self.state.join(before);
        }
    }

    /// From here it may go on behind the loop, or at its start; `far`: perhaps behind several.
    pub(crate) fn jump(&mut self, far: bool) {
        self.jumps.push((self.state.clone(), far));
    }

    /// Walks the body of a loop until the state at its start no longer grows.
    fn repeated(&mut self, walk: impl Fn(&mut Self)) {
        for round in 0.. {
            let (before, input) = (self.state.clone(), self.input.clone());
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

/// Whether a command that changes the state has a redirection that may fail, so that it does not run.
fn may_be_skipped(command: &Command) -> bool {
    let changes = match &command.kind {
        // Bash assigns even then.
        CommandKind::Simple { words, .. } => {
            let changing = ["cd", "read", "command", "builtin", "time"];
            words.first().is_some_and(|word| word.bare().is_none_or(|name| changing.contains(&name)))
        }
        _ => true,
    };
    let may_fail = |kind: &RedirectKind| !matches!(kind, RedirectKind::Write(_) | RedirectKind::Text(_));
    changes && command.redirects.iter().any(|redirect| may_fail(&redirect.kind))
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
