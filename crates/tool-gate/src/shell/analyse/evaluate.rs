//! From words to arguments.

use super::{Folder, Judge};
use crate::EffectKind;
use crate::environment::is_special_variable;
use crate::shell::Extent;
use crate::shell::read::expand_braces;
use crate::shell::script::{
    Command, CommandKind, Operator, Parameter, Piece, Redirect, RedirectKind, Script, Word,
};
use crate::shell::table;
use crate::shell::value::{Arg, Builder, Shape, Value};

impl Judge<'_> {
    /// The arguments that the words of a command become.
    pub(crate) fn args(&mut self, words: &[Word]) -> Vec<Arg> {
        let mut args = Vec::with_capacity(words.len());
        for word in words {
            match expand_braces(word) {
                Some(alternatives) => args.extend(alternatives.iter().map(|word| self.arg(word))),
                None => args.push(self.arg(word)),
            }
        }
        args
    }

    /// The argument that a word becomes, split and matched against names as bash does.
    pub(crate) fn arg(&mut self, word: &Word) -> Arg {
        self.evaluate(word, true)
    }

    /// The one text that a word becomes where bash neither splits nor matches names.
    pub(crate) fn text(&mut self, word: &Word) -> Arg {
        self.evaluate(word, false)
    }

    fn evaluate(&mut self, word: &Word, splits: bool) -> Arg {
        if let [Piece::Glob(byte @ b'[')] = word.pieces.as_slice() {
            return Arg::exact([*byte], word.span);
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
                    if parameter.all {
                        builder.all();
                    }
                    builder.value(&value, parameter.quoted || !splits);
                }
                Piece::Substitution { quoted, .. } => {
                    let value = self.piece_value(piece);
                    builder.value(&value, *quoted || !splits);
                }
                Piece::Tilde | Piece::Braces | Piece::ProcessInput(_) | Piece::Arithmetic(_) => {
                    let value = self.piece_value(piece);
                    builder.value(&value, true);
                }
            }
        }
        let arg = builder.finish(word.span);
        if splits && word.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_))) {
            // Bash reads the folder to find the names.
            self.read(&arg, Extent::Names);
        }
        arg
    }

    /// What one piece gives; its commands are judged on the way.
    pub(super) fn piece_value(&mut self, piece: &Piece) -> Value {
        match piece {
            Piece::Literal { bytes, .. } => Value::Exact(bytes.clone()),
            Piece::Glob(_) => Value::Some(Shape::WILD),
            Piece::Tilde => Value::Some(Shape { slash_first: true, ..Shape::ANY }),
            Piece::Braces => Value::ANY,
            Piece::Parameter(parameter) => self.parameter(parameter),
            Piece::Arithmetic(arithmetic) => {
                self.arithmetic(arithmetic);
                Value::Some(Shape::SIGNED)
            }
            Piece::ProcessInput(script) => {
                self.in_subshell(|judge| judge.script(script));
                Value::Exact(b"/dev/fd/63".to_vec())
            }
            Piece::Substitution { script, .. } => {
                let outer = std::mem::replace(&mut self.input, Value::ANY);
                self.in_subshell(|judge| judge.script(script));
                self.input = outer;
                output_of(script)
            }
        }
    }

    fn parameter(&mut self, parameter: &Parameter) -> Value {
        let value = self.variable(parameter);
        match &parameter.operator {
            Operator::None => value,
            Operator::Length => Value::NUMBER,
            Operator::Default(word) => {
                let other = self.text(word).to_value();
                value.join(&other)
            }
            Operator::CutEnd(word) => {
                self.text(word);
                Value::Some(Shape {
                    empty: true,
                    dot_last: true,
                    not_number: true,
                    splits: true,
                    ..value.shape()
                })
            }
            Operator::Other(word) => {
                self.text(word);
                Value::ANY
            }
        }
    }

    fn variable(&mut self, parameter: &Parameter) -> Value {
        let name = parameter.name.as_str();
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
                // In the executor's environment there is nothing secret; a host that adds to it may not know.
                let secret = name.bytes().any(|byte| byte.is_ascii_uppercase()) && !is_special_variable(name);
                if secret {
                    let detail = format!("prints the environment variable {name}");
                    self.refuse(EffectKind::Environment, detail, parameter.span);
                }
                Value::ANY
            }
        }
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

/// What is known of the output of commands whose output has a form.
fn output_of(script: &Script) -> Value {
    match script.items.as_slice() {
        [item] if item.rest.is_empty() => {
            let lines = |lines: Value, stage: &Command| lines_of(stage, &lines);
            item.first.stages.iter().fold(Value::ANY, lines)
        }
        _ => Value::ANY,
    }
}

/// What is known of the lines that a command prints, if it is given such `lines`.
pub(super) fn lines_of(command: &Command, lines: &Value) -> Value {
    let CommandKind::Simple { words, .. } = &command.kind else { return Value::ANY };
    let plain = |redirect: &Redirect| match &redirect.kind {
        RedirectKind::Read(_) => true,
        RedirectKind::Write(word) => word.bare() == Some("/dev/null"),
        _ => false,
    };
    if !command.redirects.iter().all(plain) {
        return Value::ANY;
    }
    // From a file come lines that nobody knows.
    let read = command.redirects.iter().any(|redirect| matches!(redirect.kind, RedirectKind::Read(_)));
    let Some(words) = words.iter().map(Word::literal).collect::<Option<Vec<_>>>() else { return Value::ANY };
    let words: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    table::lines_of(&words, if read { &Value::ANY } else { lines })
}
