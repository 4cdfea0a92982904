//! Arithmetic evaluates text once more: names in it must hold numbers.

use super::Judge;
use crate::EffectKind;
use crate::environment::is_special_variable;
use crate::shell::script::{Arithmetic, ArithmeticToken};
use crate::shell::value::{Shape, Value};

impl Judge<'_> {
    /// Walks an expression. Arithmetic evaluates the values of names as expressions again, so they must be numbers.
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
                        // The assignment may not happen: in `0 && (x = 1)`, or behind a division by zero. So the old
                        // value stays possible.
                        let kept = self.state.variables.get(name).cloned().unwrap_or_else(Value::empty);
                        let value = Value::Some(Shape::SIGNED).join(&kept);
                        self.assign(name, value, arithmetic.span);
                        self.state.may_be_kept(name);
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

    /// Whether a name in arithmetic is a number: its value is one, or it is not set at all.
    fn is_number(&mut self, name: &str) -> bool {
        self.note_variable(name);
        match self.state.variables.get(name) {
            Some(value) => !value.shape().not_number || *value == Value::empty(),
            None => {
                !is_special_variable(name)
                    || matches!(name, "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID")
            }
        }
    }
}
