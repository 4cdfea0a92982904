//! Expands words to arguments.

use super::{BYTES_A_UNIT, Folder, Judge};
use crate::EffectKind;
use crate::environment::is_special_variable;
use crate::shell::Extent;
use crate::shell::read::expand_braces;
use crate::shell::script::{
    Arithmetic, ArithmeticToken, CommandKind, Operator, Parameter, Piece, Pipeline, Redirect, RedirectKind,
    Script, Word,
};
use crate::shell::value::{Arg, Builder, Shape, Value};

impl Judge<'_> {
    /// The arguments that the words of a command become.
    pub(crate) fn args(&mut self, words: &[Word]) -> Vec<Arg> {
        self.command_args(words, false)
    }

    /// As [`args`](Self::args). With `shown` the command does nothing but print its arguments.
    pub(super) fn command_args(&mut self, words: &[Word], shown: bool) -> Vec<Arg> {
        let mut args = Vec::with_capacity(words.len());
        for word in words {
            if self.limit {
                break;
            }
            match expand_braces(word) {
                Some(alternatives) => args.extend(alternatives.iter().map(|word| self.arg(word))),
                None => args.push(self.arg(word)),
            }
        }
        for arg in &args {
            if arg.many || !shown {
                self.settle(arg);
            }
        }
        args
    }

    /// The argument that a word becomes, split and matched against names as bash does.
    pub(crate) fn arg(&mut self, word: &Word) -> Arg {
        self.evaluate(word, true)
    }

    /// The one text that a word becomes in a place where bash neither splits it nor matches names.
    pub(crate) fn text(&mut self, word: &Word) -> Arg {
        self.evaluate(word, false)
    }

    fn evaluate(&mut self, word: &Word, splits: bool) -> Arg {
        if let [Piece::Glob(byte @ b'[')] = word.pieces.as_slice() {
            return Arg::exact([*byte], word.span);
        }
        if let [Piece::Parameter(parameter)] = word.pieces.as_slice()
            && parameter.name == "!"
            && matches!(parameter.operator, Operator::None)
        {
            // `$!` is a number, or empty if nothing runs in the background.
            let many = splits && !parameter.quoted;
            return Arg { many, exact: false, dash: false, ..Arg::exact(Vec::new(), word.span) };
        }
        if let [Piece::Braces] = word.pieces.as_slice()
            && splits
            && is_range(self.source(word.span))
        {
            let mut builder = Builder::new();
            builder.value(&Value::NUMBER, false);
            builder.all();
            return builder.finish(word.span);
        }
        let mut builder = Builder::new();
        for piece in &word.pieces {
            match piece {
                Piece::Literal { bytes, .. } => builder.literal(bytes),
                Piece::Glob(_) if splits => builder.wild(),
                Piece::Glob(byte) => builder.literal(&[*byte]),
                Piece::Braces if splits => {
                    builder.value(&Value::ANY, false);
                }
                Piece::Parameter(parameter) => {
                    let value = self.parameter(parameter);
                    let is_parted = parameter.all && builder.has_begun();
                    if parameter.all {
                        builder.all();
                    }
                    let whole = parameter.quoted || !splits;
                    // What stands between two NULs may contain any character at which the shell splits.
                    let kept = splits && parameter.quoted;
                    let value = if !kept && value.shape().nul { Value::ANY } else { value };
                    builder.value(&value, whole);
                    if is_parted {
                        builder.part(&value);
                    }
                }
                Piece::Substitution { quoted, .. } => {
                    let value = self.piece_value(piece);
                    // Several lines of digits are no number once they are kept together as one text.
                    let lines = !splits && value.shape().splits && !value.shape().not_number;
                    let value = if lines { Value::ANY } else { value };
                    builder.value(&value, *quoted || !splits);
                }
                Piece::Tilde | Piece::Braces | Piece::ProcessInput(_) | Piece::Arithmetic(_) => {
                    let value = self.piece_value(piece);
                    builder.value(&value, true);
                }
            }
        }
        let mut arg = builder.finish(word.span);
        arg.rooted |= !arg.exact && self.is_below_root(&arg);
        self.spend(1 + word.pieces.len() / 4 + arg.prefix.len() / BYTES_A_UNIT, word.span);
        if splits && word.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_))) {
            // Bash reads the folder to find the names that match.
            self.read(&arg, Extent::Names);
        }
        arg
    }

    /// The value of one piece of a word. Commands in it are judged on the way.
    pub(super) fn piece_value(&mut self, piece: &Piece) -> Value {
        match piece {
            Piece::Literal { bytes, .. } => Value::Exact(bytes.clone()),
            Piece::Glob(_) => Value::Some(Shape::WILD),
            Piece::Tilde => Value::Some(Shape { slash_first: true, ..Shape::ANY }),
            Piece::Braces => Value::ANY,
            Piece::Parameter(parameter) => self.parameter(parameter),
            Piece::Arithmetic(arithmetic) => {
                self.arithmetic(arithmetic);
                self.may_fail();
                Value::Some(Shape::SIGNED)
            }
            Piece::ProcessInput(script) => {
                self.substitution(script);
                Value::Exact(b"/dev/fd/63".to_vec())
            }
            Piece::Substitution { script, .. } => {
                let vouched = self.judged.allowed_so_far();
                self.substitution(script);
                // If a program runs only because a policy vouches for it, nobody knows what it prints.
                if vouched != self.judged.allowed_so_far() {
                    return Value::ANY;
                }
                match folder_asked_for(script) {
                    Some(PrintedFolder::Current) => self.working_folder(),
                    Some(PrintedFolder::Repository { fallback }) => self.repository(script, fallback),
                    // Bash drops NULs, which joins what they separated.
                    None => match self.printed_lines() {
                        value if value.shape().nul => Value::ANY,
                        value => value,
                    },
                }
            }
        }
    }

    fn parameter(&mut self, parameter: &Parameter) -> Value {
        let own = || self.state.variables.contains_key(&parameter.name);
        if matches!(parameter.operator, Operator::Places) && (is_special_variable(&parameter.name) || !own())
        {
            self.unknown("the places of an array that the command does not make", parameter.span);
        }
        if let Some(subscript) = &parameter.subscript {
            self.subscript(subscript);
        }
        let value = self.variable(parameter);
        match &parameter.operator {
            Operator::None => value,
            Operator::Length | Operator::Places => Value::NUMBER,
            Operator::Default(word) => {
                let other = self.text(word).to_value();
                value.join(&other)
            }
            Operator::CutEnd(word) => {
                self.text(word);
                let shape = value.shape();
                // Cutting something off a listed name that starts with two dots may leave only the dots.
                let listed = matches!(value, Value::Some(_)) && shape.dot_first;
                Value::Some(Shape {
                    empty: true,
                    climbs: shape.climbs || listed,
                    // It may be cut within the path of the workspace.
                    slash_first: shape.slash_first || shape.rooted,
                    dot_last: true,
                    not_number: true,
                    not_word: true,
                    splits: true,
                    ..shape
                })
            }
            Operator::Other(word) => {
                self.text(word);
                self.may_fail();
                Value::ANY
            }
        }
    }

    /// An index of an array is evaluated as an expression, so the names in it must hold numbers of the script's own.
    fn subscript(&mut self, subscript: &Arithmetic) {
        self.arithmetic(subscript);
        for token in &subscript.tokens {
            let known = match token {
                ArithmeticToken::Name(name) => self.state.variables.contains_key(name),
                ArithmeticToken::Assign => false,
                _ => true,
            };
            if !known {
                self.refuse(EffectKind::Executes, "a subscript that is evaluated", subscript.span);
            }
        }
    }

    fn variable(&mut self, parameter: &Parameter) -> Value {
        let name = parameter.name.as_str();
        self.note_variable(name);
        if let Some(value) = self.state.variables.get(name) {
            return value.clone();
        }
        match name {
            "?" | "#" | "$" | "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID" => Value::NUMBER,
            "!" => Value::Some(Shape { empty: true, splits: true, not_number: true, ..Shape::NUMBER }),
            "PWD" => self.working_folder(),
            // `bash -c TEXT` has no positional parameters.
            "@" | "*" => Value::empty(),
            name if name != "0" && name.bytes().all(|byte| byte.is_ascii_digit()) => Value::empty(),
            name => {
                // In the executor's environment nothing is secret, but the gate does not know what a host adds to it.
                let secret = name.bytes().any(|byte| byte.is_ascii_uppercase()) && !is_special_variable(name);
                if secret {
                    let detail = format!("prints the environment variable {name}");
                    self.refuse(EffectKind::Environment, detail, parameter.span);
                }
                Value::ANY
            }
        }
    }

    /// The folder that git prints as the top of its repository. In the hardened form git looks no further up than the
    /// workspace. With `fallback`, the current folder stands for it if git finds no repository.
    fn repository(&mut self, script: &Script, fallback: bool) -> Value {
        let Some(command) = script.items.first().and_then(|item| item.first.stages.first()) else {
            return Value::ANY;
        };
        let inside = self.state.folders.iter().all(|folder| matches!(folder, Folder::Inside(_)));
        let workspace = self.context.workspace.trim_end_matches('/');
        let Some((above, _)) = workspace.rsplit_once('/').filter(|_| inside) else { return Value::ANY };
        let above = if above.is_empty() { "/" } else { above };
        self.set_environment("GIT_CEILING_DIRECTORIES", above);
        if !fallback {
            self.insert(command.span.1, " || pwd".to_owned());
        }
        // It may be a repository below the workspace; then what is read is not known exactly.
        self.read_workspace(Extent::Below, command.span);
        Value::Exact(workspace.as_bytes().to_vec())
    }

    fn working_folder(&self) -> Value {
        match self.state.folders.as_slice() {
            [Folder::Inside(folder)] if folder.is_root() => {
                Value::Exact(self.context.workspace.clone().into_bytes())
            }
            [Folder::Inside(folder)] => Value::Exact(
                format!("{}/{folder}", self.context.workspace.trim_end_matches('/')).into_bytes(),
            ),
            _ => Value::ANY,
        }
    }
}

/// A folder whose path a substitution prints.
enum PrintedFolder {
    Current,
    /// `fallback`: whether the current folder is printed if there is no repository.
    Repository {
        fallback: bool,
    },
}

/// `{1..20}`: numbers, not too many of them.
fn is_range(source: &str) -> bool {
    let inner = source.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let number = |text: &str| {
        let plain =
            text.bytes().all(|byte| byte.is_ascii_digit()) && !(text.starts_with('0') && 1 < text.len());
        text.parse::<u32>().ok().filter(|_| plain)
    };
    inner.and_then(|inner| inner.split_once("..")).is_some_and(|(first, last)| {
        match (number(first), number(last)) {
            (Some(first), Some(last)) => first.abs_diff(last) < 10_000,
            _ => false,
        }
    })
}

/// The folder that a script prints, if it does nothing else.
fn folder_asked_for(script: &Script) -> Option<PrintedFolder> {
    let [item] = script.items.as_slice() else { return None };
    if item.background {
        return None;
    }
    let toplevel = ["git", "rev-parse", "--show-toplevel"];
    match (plain_words(&item.first)?.as_slice(), item.rest.as_slice()) {
        (["pwd"], []) => Some(PrintedFolder::Current),
        (words, []) if words == toplevel => Some(PrintedFolder::Repository { fallback: false }),
        (words, [(false, other)]) if words == toplevel && plain_words(other)? == ["pwd"] => {
            Some(PrintedFolder::Repository { fallback: true })
        }
        _ => None,
    }
}

/// The words of a pipeline that is a single command without redirections, except of its errors.
fn plain_words(pipeline: &Pipeline) -> Option<Vec<&str>> {
    let [command] = pipeline.stages.as_slice() else { return None };
    if pipeline.negated {
        return None;
    }
    let quiet = |redirect: &Redirect| match &redirect.kind {
        RedirectKind::Write(word) => word.bare() == Some("/dev/null") && redirect.errors,
        _ => false,
    };
    match &command.kind {
        CommandKind::Simple { assignments, words }
            if assignments.is_empty() && command.redirects.iter().all(quiet) =>
        {
            words.iter().map(Word::bare).collect()
        }
        _ => None,
    }
}
