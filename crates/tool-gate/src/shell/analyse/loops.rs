//! Loops of the shell that cannot end.

use super::{Judge, state};
use crate::shell::progress::{Change, Compare, Sum, compared, never_ends};
use crate::shell::script::{
    Arithmetic, ArithmeticToken, Assignment, CommandKind, Item, Operator, Piece, Pipeline, Script, Span, Word,
};
use crate::shell::value::Value;

const UNCHANGED: &str = "a loop whose condition never changes";
const SKIPPED: &str = "a loop in which a continue may skip what changes its condition";

/// What one round of a loop does to the shell's variables.
struct Round<'a> {
    text: &'a str,
    /// The values of variables that the loop does not change.
    fixed: &'a dyn Fn(&str) -> Option<i128>,
    /// By name: the change that happens in every round, and the one that may happen besides.
    changes: Vec<(String, Change, Change)>,
    /// Texts that are not numbers, each with the variable to which it is assigned.
    texts: Vec<(String, String)>,
    /// Variables that are changed only if no `continue` came before.
    skipped: Vec<String>,
    /// Whether a `continue` of this loop has been met.
    cut: bool,
    /// Whether the loop may be left in another way than by its condition.
    leaves: bool,
}

impl Judge<'_> {
    /// Why a loop with this condition does not end; `None` where it may.
    pub(super) fn endless_while(
        &self,
        condition: &Script,
        body: &Script,
        span: Span,
    ) -> Option<&'static str> {
        if reads(condition) {
            return None;
        }
        let assigned = [state::assigned_names(condition), state::assigned_names(body)];
        let fixed = |name: &str| {
            let own = assigned.iter().any(|names| names.contains(name));
            number(self.state.variables.get(name).filter(|_| !own))
        };
        let mut round = Round::new(self.text, &fixed);
        round.script(condition, true, true);
        round.script(body, true, false);
        let seen = state::seen_names(condition);
        let changing: Vec<&String> =
            seen.iter().filter(|name| round.changes(name, self.state.variables.get(*name))).collect();
        if changing.is_empty() {
            return Some(UNCHANGED);
        }
        if changing.iter().all(|name| round.skipped.contains(name)) {
            return Some(SKIPPED);
        }
        if round.leaves {
            return None;
        }
        let (left, compare, right) = comparison(condition, self.text)?;
        let compare = match self.text.get(span.0..)? {
            rest if rest.starts_with("while") => compare,
            rest if rest.starts_with("until") => compare.negated(),
            _ => return None,
        };
        let start = |name: &str| number(self.state.variables.get(name));
        never_ends(&left, compare, &right, &|name| round.change(name, &start), &start)
    }

    /// The same of `for ((start; condition; step))`.
    pub(super) fn endless_counted(
        &self,
        [start, condition, step]: [&Arithmetic; 3],
        body: &Script,
    ) -> Option<&'static str> {
        let mut round = Round::new(self.text, &|_| None);
        round.script(body, true, false);
        if !counts(condition, step, &round) {
            return Some("a loop that may not end");
        }
        round.cut = false;
        round.arithmetic(step, true);
        if round.leaves {
            return None;
        }
        let mut first = Round::new(self.text, &|_| None);
        first.arithmetic(start, true);
        let begins = |name: &str| match first.change(name, &|_| None) {
            Change::Set(value) => Some(value),
            Change::Add(0) => number(self.state.variables.get(name)),
            _ => None,
        };
        let (left, compare, right) = compared(expression(condition, self.text))?;
        never_ends(&left, compare, &right, &|name| round.change(name, &begins), &begins)
    }
}

impl<'a> Round<'a> {
    fn new(text: &'a str, fixed: &'a dyn Fn(&str) -> Option<i128>) -> Self {
        let (changes, texts, skipped) = (Vec::new(), Vec::new(), Vec::new());
        Self { text, fixed, changes, texts, skipped, cut: false, leaves: false }
    }

    /// What a round does to a variable. `start` gives the value before the round, which stays if nothing changes it.
    fn change(&self, name: &str, start: &dyn Fn(&str) -> Option<i128>) -> Change {
        let Some((_, sure, perhaps)) = self.changes.iter().find(|(known, ..)| known == name) else {
            return Change::NONE;
        };
        match sure.perhaps(*perhaps) {
            // The variable is set to the value that it has.
            Change::Set(value) if start(name) == Some(value) => Change::NONE,
            change => change,
        }
    }

    /// Whether a variable that is `before` at the first round may be another after some round.
    fn changes(&self, name: &str, before: Option<&Value>) -> bool {
        let mut texts = self.texts.iter().filter(|(known, _)| known == name).map(|(_, text)| text).peekable();
        let only_texts = texts.peek().is_some();
        let Some((_, sure, perhaps)) = self.changes.iter().find(|(known, ..)| known == name) else {
            return only_texts && differs(texts, before);
        };
        match sure.perhaps(*perhaps) {
            Change::Add(0) => only_texts && differs(texts, before),
            Change::Set(value) => number(before).is_some_and(|before| before != value),
            _ => true,
        }
    }

    fn add(&mut self, name: &str, change: Change, sure: bool) {
        if self.cut && !self.changes.iter().any(|(known, ..)| known == name) {
            self.skipped.push(name.to_owned());
        }
        let place = self.changes.iter().position(|(known, ..)| known == name).unwrap_or_else(|| {
            self.changes.push((name.to_owned(), Change::NONE, Change::NONE));
            self.changes.len() - 1
        });
        let (_, always, perhaps) = &mut self.changes[place];
        if sure && !self.cut {
            *always = always.then(change);
        } else {
            *perhaps = perhaps.perhaps(change);
        }
    }

    /// `sure`: the script runs in each round. `inner`: a jump in it leaves another loop than this one.
    fn script(&mut self, script: &Script, sure: bool, inner: bool) {
        for Item { first, rest, background } in &script.items {
            if *background {
                continue;
            }
            self.pipeline(first, sure, inner);
            for (_, pipeline) in rest {
                self.pipeline(pipeline, false, inner);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, sure: bool, inner: bool) {
        // Each stage of a longer pipeline runs in a shell of its own, which changes nothing here.
        let [command] = pipeline.stages.as_slice() else { return };
        match &command.kind {
            CommandKind::Simple { assignments, words } => self.simple(assignments, words, sure, inner),
            CommandKind::Group(script) => self.script(script, sure, inner),
            CommandKind::If { branches, otherwise } => {
                for (place, (condition, body)) in branches.iter().enumerate() {
                    self.script(condition, sure && place == 0, inner);
                    self.script(body, false, inner);
                }
                if let Some(otherwise) = otherwise {
                    self.script(otherwise, false, inner);
                }
            }
            CommandKind::While { condition, body } => {
                self.script(condition, false, true);
                self.script(body, false, true);
            }
            CommandKind::Counted { start, condition, step, body } => {
                self.arithmetic(start, sure);
                self.arithmetic(condition, false);
                self.script(body, false, true);
                self.arithmetic(step, false);
            }
            CommandKind::For { name, body, .. } => {
                self.add(name, Change::Unknown, sure);
                self.script(body, false, true);
            }
            CommandKind::Case { arms, .. } => {
                for (_, body) in arms {
                    self.script(body, false, inner);
                }
            }
            CommandKind::Arithmetic(arithmetic) => self.arithmetic(arithmetic, sure),
            CommandKind::Test(words) => self.words(words, sure),
            CommandKind::Subshell(_) => {}
        }
    }

    fn simple(&mut self, assignments: &[Assignment], words: &[Word], sure: bool, inner: bool) {
        if words.is_empty() {
            return assignments.iter().for_each(|assignment| self.assignment(assignment, sure));
        }
        self.words(words, sure);
        let name = words.first().and_then(Word::bare).unwrap_or_default();
        match name {
            "break" | "continue" if inner && words.len() < 2 => {}
            "continue" => self.cut = true,
            "break" | "exit" => self.leaves = true,
            "read" | "unset" | "mapfile" | "readarray" | "export" => {
                let names = words.iter().skip(1).filter_map(Word::bare);
                names.for_each(|name| self.add(name, Change::Unknown, sure));
            }
            _ => {}
        }
    }

    /// Notes what arithmetic in words assigns.
    fn words(&mut self, words: &[Word], sure: bool) {
        for piece in words.iter().flat_map(|word| &word.pieces) {
            if let Piece::Arithmetic(arithmetic) = piece {
                self.arithmetic(arithmetic, sure);
            }
        }
    }

    fn assignment(&mut self, assignment: &Assignment, sure: bool) {
        let name = &assignment.name;
        self.words(&assignment.values, sure);
        let value = match assignment.values.as_slice() {
            [value] if !assignment.append && !assignment.array => value,
            _ => return self.add(name, Change::Unknown, sure),
        };
        let change = match value.pieces.as_slice() {
            [Piece::Arithmetic(arithmetic)] => {
                let sum = Sum::read(expression(arithmetic, self.text));
                sum.map_or(Change::Unknown, |sum| sum.assigned_to(name, self.fixed))
            }
            _ if is_itself(value, name) => Change::NONE,
            _ => match value.literal().and_then(|bytes| String::from_utf8(bytes).ok()) {
                Some(text) => {
                    let Ok(value) = text.parse() else {
                        self.texts.retain(|(known, _)| known != name || !sure);
                        return self.texts.push((name.clone(), text));
                    };
                    Change::Set(value)
                }
                None => Change::Unknown,
            },
        };
        self.add(name, change, sure);
    }

    fn arithmetic(&mut self, arithmetic: &Arithmetic, sure: bool) {
        let assigns = arithmetic.tokens.iter().any(|token| matches!(token, ArithmeticToken::Assign));
        if !assigns {
            return;
        }
        // What stands behind one of these operators may not be evaluated.
        let text = expression(arithmetic, self.text);
        let sure = sure && !text.contains("&&") && !text.contains("||") && !text.contains('?');
        let mut known: Vec<String> = Vec::new();
        for part in text.split(',') {
            if let Some((name, change)) = step(part, self.fixed) {
                self.add(&name, change, sure);
                known.push(name);
            }
        }
        // Assignments in any other form are not followed.
        for pair in arithmetic.tokens.windows(2) {
            if let [ArithmeticToken::Name(name), ArithmeticToken::Assign]
            | [ArithmeticToken::Assign, ArithmeticToken::Name(name)] = pair
                && !known.contains(name)
            {
                self.add(name, Change::Unknown, sure);
            }
        }
    }
}

/// What a part of an expression assigns, if that is one assignment of a known form: `i++`, `i += 2`, `i = i + 2`,
/// `i-- < 5`.
fn step(part: &str, fixed: &dyn Fn(&str) -> Option<i128>) -> Option<(String, Change)> {
    let text: String = part.chars().filter(|character| !character.is_whitespace()).collect();
    let is_name = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    for (operator, factor) in [("++", 1), ("--", -1)] {
        let Some((before, after)) = text.split_once(operator) else { continue };
        let compares = |text: &str| text.is_empty() || text.starts_with(['<', '>', '!', '=']);
        let plain = |text: &str| !text.contains("++") && !text.contains("--") && !text.contains("+=");
        if is_name(before) && compares(after) && plain(after) {
            return Some((before.to_owned(), Change::Add(factor)));
        }
        let end =
            after.find(|next: char| !next.is_ascii_alphanumeric() && next != '_').unwrap_or(after.len());
        if before.is_empty() && is_name(&after[..end]) && compares(&after[end..]) && plain(after) {
            return Some((after[..end].to_owned(), Change::Add(factor)));
        }
        return None;
    }
    let (name, value) = text.split_once('=')?;
    let (name, factor) = match name.strip_suffix(['+', '-']) {
        Some(bare) => (bare, if name.ends_with('+') { 1 } else { -1 }),
        None => (name, 0),
    };
    let sum = Sum::read(value).filter(|_| is_name(name))?;
    let change = match (factor, sum.assigned_to(name, fixed)) {
        (0, change) => change,
        (factor, Change::Set(number)) => Change::Add(number.saturating_mul(factor)),
        _ => Change::Unknown,
    };
    Some((name.to_owned(), change))
}

/// The source of an expression, without what encloses it.
fn expression<'a>(arithmetic: &Arithmetic, text: &'a str) -> &'a str {
    let source = text.get(arithmetic.span.0..arithmetic.span.1).unwrap_or_default().trim();
    let source = source.strip_prefix("$((").or_else(|| source.strip_prefix("((")).unwrap_or(source);
    source.strip_suffix("))").or_else(|| source.strip_suffix(';')).unwrap_or(source)
}

/// The comparison that a condition makes, if it does nothing else.
fn comparison(condition: &Script, text: &str) -> Option<(Sum, Compare, Sum)> {
    let [Item { first, rest, background: false }] = condition.items.as_slice() else { return None };
    let ([command], []) = (first.stages.as_slice(), rest.as_slice()) else { return None };
    let source = |word: &Word| text.get(word.span.0..word.span.1).unwrap_or_default();
    let (left, compare, right) = match &command.kind {
        CommandKind::Simple { assignments, words } if assignments.is_empty() => match words.as_slice() {
            [name, left, operator, right, close] if source(name) == "[" && source(close) == "]" => {
                numbers(left, operator, right, text)?
            }
            [name, left, operator, right] if source(name) == "test" => numbers(left, operator, right, text)?,
            _ => return None,
        },
        CommandKind::Test(words) => match words.as_slice() {
            [left, operator, right] => numbers(left, operator, right, text)?,
            _ => return None,
        },
        CommandKind::Arithmetic(arithmetic) => compared(expression(arithmetic, text))?,
        _ => return None,
    };
    Some((left, if first.negated { compare.negated() } else { compare }, right))
}

fn numbers(left: &Word, operator: &Word, right: &Word, text: &str) -> Option<(Sum, Compare, Sum)> {
    let side = |word: &Word| {
        let source = text.get(word.span.0..word.span.1)?.replace('"', "");
        let inner = source.strip_prefix("$((").and_then(|inner| inner.strip_suffix("))"));
        // A name without a dollar is a text here, not a number.
        let is_word = source.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_word { None } else { Sum::read(inner.unwrap_or(&source)) }
    };
    let operator = operator.bare().filter(|operator| operator.starts_with('-'))?;
    Some((side(left)?, Compare::named(operator)?, side(right)?))
}

/// Whether the text that a variable is given last differs from the one before.
fn differs<'a>(mut texts: impl Iterator<Item = &'a String>, before: Option<&Value>) -> bool {
    texts.any(|text| match before {
        Some(Value::Exact(before)) => before != text.as_bytes(),
        _ => false,
    })
}

fn number(value: Option<&Value>) -> Option<i128> {
    match value? {
        Value::Exact(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
        Value::Some(_) => None,
    }
}

/// Whether a word is the value of this variable and nothing else, so that assigning it changes nothing.
fn is_itself(word: &Word, name: &str) -> bool {
    let mut values = word.pieces.iter().filter(|piece| match piece {
        Piece::Literal { bytes, .. } => !bytes.is_empty(),
        _ => true,
    });
    match (values.next(), values.next()) {
        (Some(Piece::Parameter(parameter)), None) => {
            parameter.name == name && !parameter.all && matches!(parameter.operator, Operator::None)
        }
        _ => false,
    }
}

/// Whether the step of a loop changes a variable that its condition compares with others, and the effect of the body
/// on that variable is known.
fn counts(condition: &Arithmetic, step: &Arithmetic, round: &Round<'_>) -> bool {
    let named = |name: &String| {
        let same = |token: &&ArithmeticToken| matches!(token, ArithmeticToken::Name(other) if other == name);
        // A variable that is compared with itself (`i < i + 1`) may go on for ever.
        round.change(name, &|_| None) != Change::Unknown && condition.tokens.iter().filter(same).count() == 1
    };
    step.tokens.windows(2).any(|pair| match pair {
        [ArithmeticToken::Name(name), ArithmeticToken::Assign]
        | [ArithmeticToken::Assign, ArithmeticToken::Name(name)] => named(name),
        _ => false,
    })
}

/// Whether a script begins by reading a line, which ends a loop when the input ends.
fn reads(script: &Script) -> bool {
    script.items.iter().any(|item| match item.first.stages.as_slice() {
        // With a redirection of its own it would read the same line again and again.
        [stage] => match &stage.kind {
            CommandKind::Simple { words, .. } => {
                words.first().and_then(Word::bare) == Some("read") && stage.redirects.is_empty()
            }
            _ => false,
        },
        _ => false,
    })
}
