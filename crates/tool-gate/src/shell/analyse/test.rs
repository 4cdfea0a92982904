//! `[[ … ]]` and `test`.

use super::Judge;
use crate::EffectKind;
use crate::environment::is_special_variable;
use crate::shell::Extent;
use crate::shell::script::{CommandKind, Operator, Piece, Pipeline, Span, Word};
use crate::shell::value::Arg;

/// Operators that test a file.
const FILE_TESTS: &str = "abcdefghkprsuwxLNOGS";

const NUMBER_TESTS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl Judge<'_> {
    /// Judges `[[ … ]]`, in which words are neither split nor matched, and numbers are evaluated as expressions.
    pub(super) fn double_bracket(&mut self, tokens: &[Word], span: Span) {
        let joins = |word: &Word| matches!(word.bare(), Some("&&" | "||" | "(" | ")" | "!"));
        let mut any = false;
        for group in tokens.split(joins).filter(|group| !group.is_empty()) {
            any = true;
            match group {
                [one] => {
                    self.text(one);
                }
                [operator, operand] => {
                    let arg = self.text(operand);
                    let operator = operator.bare().map(str::to_owned);
                    self.unary(operator.as_deref(), &arg, span);
                }
                [left, operator, right] => {
                    let (left, right) = (self.text(left), self.text(right));
                    self.binary(operator.bare().unwrap_or_default(), &left, &right, true, span);
                }
                _ => self.unknown("a test that is not understood", span),
            }
        }
        if !any {
            self.unknown("an empty test", span);
        }
    }

    /// The variable that is known to hold digits if this test succeeds: `[[ $x =~ ^[0-9]+$ ]]`.
    pub(super) fn proven_by<'b>(&self, pipeline: &'b Pipeline) -> Option<&'b str> {
        const DIGITS: [&str; 3] = ["^[0-9]+$", "^[1-9][0-9]*$", "^[[:digit:]]+$"];
        let ([command], false) = (pipeline.stages.as_slice(), pipeline.negated) else { return None };
        let CommandKind::Test(tokens) = &command.kind else { return None };
        let [left, operator, right] = tokens.as_slice() else { return None };
        let digits = operator.bare() == Some("=~") && DIGITS.contains(&self.source(right.span));
        let mut values = left.pieces.iter().filter(|piece| match piece {
            Piece::Literal { bytes, .. } => !bytes.is_empty(),
            _ => true,
        });
        match (values.next(), values.next()) {
            (Some(Piece::Parameter(parameter)), None) if digits => {
                let plain = !parameter.all
                    && parameter.subscript.is_none()
                    && matches!(parameter.operator, Operator::None)
                    && !is_special_variable(&parameter.name)
                    && is_name(&parameter.name);
                plain.then_some(parameter.name.as_str())
            }
            _ => None,
        }
    }

    /// Judges `test …` and `[ … ]`, without the closing bracket.
    pub(crate) fn single_bracket(&mut self, args: &[Arg], span: Span) {
        if let Some(place) = args.iter().position(|arg| arg.many) {
            if !args[place].number || 2 < args.iter().filter(|arg| arg.many).count() {
                return self.unknown("a test whose arguments are not known", span);
            }
            // The argument is a number, or missing.
            let mut with = args.to_vec();
            with[place].many = false;
            self.single_bracket(&with, span);
            with.remove(place);
            return self.single_bracket(&with, span);
        }
        // Longer tests are read by position, so no argument may turn out to be an operator.
        if 4 < args.len() && args.iter().any(|arg| !arg.exact && arg.dash) {
            return self.unknown("a test whose operators are not known", span);
        }
        let joins = |arg: &Arg| arg.is("-a") || arg.is("-o") || arg.is("(") || arg.is(")") || arg.is("!");
        for group in args.split(joins) {
            match group {
                [] => {}
                [one] => {
                    // Next to an operator that joins two tests, a single argument could be an operator itself.
                    if !one.exact && one.dash && 1 < args.len() {
                        self.unknown("a test whose operators are not known", span);
                    }
                }
                // With the number missing, bash reports an error.
                [operator, number]
                    if number.number && operator.text().is_some_and(|text| NUMBER_TESTS.contains(&text)) => {}
                [number, operator]
                    if number.number && operator.text().is_some_and(|text| NUMBER_TESTS.contains(&text)) => {}
                [operator, operand] => self.unary(operator.text(), operand, span),
                [left, operator, right] => {
                    self.binary(operator.text().unwrap_or_default(), left, right, false, span);
                }
                _ => self.unknown("a test that is not understood", span),
            }
        }
    }

    fn unary(&mut self, operator: Option<&str>, operand: &Arg, span: Span) {
        match operator {
            Some("-n" | "-z" | "-t") => {}
            Some(text) if text.len() == 2 && text.starts_with('-') && FILE_TESTS.contains(&text[1..]) => {
                self.read(operand, Extent::File);
            }
            // A plain name is safe; only an index in brackets would be evaluated.
            Some("-v") if operand.text().is_some_and(is_name) => {}
            // `-v` and `-R` evaluate an index in brackets.
            _ => self.refuse(EffectKind::Executes, "a test that may evaluate its argument", span),
        }
    }

    fn binary(&mut self, operator: &str, left: &Arg, right: &Arg, evaluates: bool, span: Span) {
        match operator {
            "=" | "==" | "!=" | "<" | ">" => {}
            "=~" if evaluates => {}
            _ if NUMBER_TESTS.contains(&operator) => {
                if evaluates && !(left.number && right.number) {
                    self.refuse(EffectKind::Executes, "a text is evaluated as an expression", span);
                }
            }
            "-nt" | "-ot" | "-ef" => {
                self.read(left, Extent::File);
                self.read(right, Extent::File);
            }
            _ => self.unknown("a test that is not understood", span),
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
