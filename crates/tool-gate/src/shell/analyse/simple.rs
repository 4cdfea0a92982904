//! One command: assignments, redirections, the program and what it reads.

use super::{Judge, LineEnds};
use crate::EffectKind;
use crate::environment::is_special_variable;
use crate::shell::script::{Assignment, Command, CommandKind, Piece, Redirect, RedirectKind, Span, Word};
use crate::shell::table;
use crate::shell::value::{Arg, Value};

/// Programs that do not read their standard input, or read whole lines of it.
const KEEPS_INPUT: [&str; 16] = [
    ":", "[", "basename", "break", "cd", "continue", "date", "dirname", "echo", "exit", "false", "printf",
    "pwd", "read", "test", "true",
];

/// Files that a command may write to, because they hold nothing or are where the command prints to anyway.
const HARMLESS_TARGETS: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];

impl Judge<'_> {
    pub(super) fn simple(&mut self, assignments: &[Assignment], words: &[Word]) {
        let piped = self.piped.take();
        if words.is_empty() {
            for assignment in assignments {
                self.assignment(assignment);
            }
            self.printed = None;
            return;
        }
        // What is only printed opens nothing, wherever it leads.
        let shown = matches!(words.first().and_then(Word::bare), Some("echo" | "printf"));
        let args = self.command_args(words, shown);
        let Some((program, rest)) = args.split_first() else {
            if let Some(assignment) = assignments.first() {
                // If all words expand to nothing, the assignment is not a prefix of a command, and the variable keeps
                // the value.
                self.unknown("an assignment before words that may all be empty", assignment.span);
            }
            return;
        };
        let Some(name) = program.text() else {
            return self.refuse(
                EffectKind::Executes,
                "the program to run is chosen by an expansion",
                program.span,
            );
        };
        self.line_ends = match name {
            "read" | "command" | "builtin" => LineEnds::Cut(program.span.0),
            _ => LineEnds::Unknown,
        };
        for assignment in assignments {
            let values: Vec<Arg> = assignment.values.iter().map(|word| self.text(word)).collect();
            let value =
                values.first().and_then(Arg::text).filter(|_| !assignment.array && !assignment.append);
            if assignment.name == "IFS" && value == Some("") {
                self.line_ends = LineEnds::Kept;
            }
            if !value.is_some_and(|value| table::is_harmless_prefix(&assignment.name, value, name)) {
                let detail = format!("{} may change what {name} does", assignment.name);
                self.refuse(EffectKind::Environment, detail, assignment.span);
            }
        }
        let other_ends = |assignment: &Assignment| {
            assignment.name == "IFS" && assignment.values.first().and_then(Word::literal) != Some(Vec::new())
        };
        if assignments.iter().any(other_ends) {
            self.input = Value::ANY;
        }
        self.piped = piped;
        self.printed = None;
        self.reads_input = !KEEPS_INPUT.contains(&name);
        table::judge_program(self, name, program.span, rest, table::Caller::Shell);
        self.piped = None;
        // A program that reads further may stop anywhere within a line.
        if self.reads_input {
            self.input = Value::ANY;
        }
    }

    /// Refuses whatever depends on the order in which bash expands the parts of one command. The gate walks
    /// redirections before the words; bash expands them after the words, and, if there is no word, after the
    /// assignments.
    pub(super) fn check_order(&mut self, command: &Command) {
        let CommandKind::Simple { assignments, words } = &command.kind else { return };
        if command.redirects.is_empty() {
            return;
        }
        let documents = &self.reading.documents;
        let mut values = assignments.iter().flat_map(|assignment| &assignment.values).chain(words);
        let assigns_before = values.any(Word::assigns) || (words.is_empty() && !assignments.is_empty());
        for redirect in &command.redirects {
            let word = match &redirect.kind {
                RedirectKind::Read(word) | RedirectKind::Write(word) | RedirectKind::Text(word) => Some(word),
                RedirectKind::Document(place) => documents.get(*place),
                RedirectKind::Duplicate | RedirectKind::DuplicateInput | RedirectKind::Other => None,
            };
            let Some(word) = word else { continue };
            if word.assigns() || (assigns_before && word.expands()) {
                self.unknown(
                    "a redirection and an assignment in one command that may rest on each other",
                    redirect.span,
                );
            }
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
            // Arithmetic may fail (a division, an octal 08), and then the variable keeps its value.
            if word.pieces.iter().any(|piece| matches!(piece, Piece::Arithmetic(_))) {
                let kept = self.state.variables.get(&assignment.name).cloned().unwrap_or_else(Value::empty);
                value = value.join(&kept);
            }
        }
        if assignment.append {
            value = Value::ANY;
        }
        if assignment.array && matches!(value, Value::Exact(_)) {
            // An element that is not set is empty.
            value = value.join(&Value::empty());
        }
        // A division may fail, a number may be no octal one.
        let may_fail = |word: &Word| {
            let text = self.source(word.span);
            let is_arithmetic = word.pieces.iter().any(|piece| matches!(piece, Piece::Arithmetic(_)));
            is_arithmetic && (text.contains(['/', '%', '#', '0']) || text.contains("**"))
        };
        let is_kept = !self.state.is_assigned(&assignment.name)
            && (assignment.append || assignment.values.iter().any(may_fail));
        self.assign(&assignment.name, value.clone(), assignment.span);
        if is_kept {
            self.state.may_be_kept(&assignment.name);
        }
        if assignment.array {
            self.state.set_array(&assignment.name, value);
        }
    }

    /// Gives a variable a value. A variable that has a special meaning is refused.
    pub(crate) fn assign(&mut self, name: &str, value: Value, span: Span) {
        if is_special_variable(name) {
            let detail = format!("{name} changes how later commands run");
            return self.refuse(EffectKind::Environment, detail, span);
        }
        self.state.set(name, value);
    }

    /// What is known of the lines that the redirection gives the command, if it is one for its input.
    pub(super) fn redirect(&mut self, redirect: &Redirect) -> Option<Value> {
        match &redirect.kind {
            RedirectKind::Duplicate => return None,
            RedirectKind::DuplicateInput => {}
            RedirectKind::Other => {
                self.refuse(
                    EffectKind::WritesWorkspace,
                    "a redirection that opens a file to write",
                    redirect.span,
                );
            }
            RedirectKind::Read(word) => {
                let arg = self.arg(word);
                if matches!(word.pieces.as_slice(), [Piece::ProcessInput(_)]) {
                    return Some(self.printed_lines());
                }
                // If the word matches several names, bash reports an error.
                self.read_file(&arg);
            }
            RedirectKind::Write(word) => {
                let arg = self.arg(word);
                if !HARMLESS_TARGETS.into_iter().any(|target| arg.is(target)) {
                    let shown = String::from_utf8_lossy(&arg.prefix).into_owned();
                    let folder = self.state.folders.first();
                    let target = arg.bytes().and_then(|path| self.resolve(path, folder?));
                    let kind = if arg.bytes().is_some_and(|bytes| {
                        bytes.starts_with(b"/dev/tcp/") || bytes.starts_with(b"/dev/udp/")
                    }) {
                        EffectKind::Network
                    } else if target.is_some() {
                        EffectKind::WritesWorkspace
                    } else if shown.starts_with('/')
                        || arg.escapes
                        || arg.bytes().is_some() && folder.is_some()
                    {
                        EffectKind::WritesOutside
                    } else {
                        EffectKind::WritesWorkspace
                    };
                    self.writes.extend(target);
                    self.note_closed(std::slice::from_ref(&arg));
                    // What is known of `~/notes` before it is expanded is nothing, but it can be read.
                    let named = if shown.is_empty() { self.source(word.span).to_owned() } else { shown };
                    self.refuse(kind, format!("writes to {named:?}"), redirect.span);
                }
                return None;
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
        Some(Value::ANY)
    }
}
