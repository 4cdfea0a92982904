use headstart_toolbox::ToolError;
use serde_json::{Map, Value};

use super::ToolKind;

/// The arguments of one call. An argument that the tool does not have is an error, so that the model learns that it
/// has no effect.
pub(super) struct Arguments<'a> {
    kind: ToolKind,
    args: &'a Map<String, Value>,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(
        kind: ToolKind,
        args: &'a Map<String, Value>,
        known: &[&str],
    ) -> Result<Self, ToolError> {
        let arguments = Self { kind, args };
        match args.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(arguments),
            Some(key) => {
                Err(arguments.invalid(format!("there is no argument {key:?}; it takes {}", known.join(", "))))
            }
        }
    }

    pub(super) fn required(&self, name: &str) -> Result<&'a str, ToolError> {
        self.text(name)?.ok_or_else(|| self.invalid(format!("the argument {name} is missing; give a string")))
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, ToolError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.invalid(format!("the argument {name} must be a string"))),
        }
    }

    /// A number from 1; also `3.0`, because some models write numbers so.
    pub(super) fn line(&self) -> Result<usize, ToolError> {
        let value = self.value("line");
        let whole = value
            .and_then(|value| value.as_u64().or_else(|| value.to_string().strip_suffix(".0")?.parse().ok()));
        let line = whole.and_then(|line| usize::try_from(line).ok()).filter(|line| 0 < *line);
        line.ok_or_else(|| self.invalid("the argument line must be a whole number from 1".to_owned()))
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<&'a str>, ToolError> {
        match self.value(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
                Ok(list.iter().filter_map(Value::as_str).collect())
            }
            Some(_) => Err(self.invalid(format!("the argument {name} must be a list of strings"))),
        }
    }

    pub(super) fn invalid(&self, message: String) -> ToolError {
        ToolError::InvalidArgument { tool: self.kind.name().to_owned(), message }
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.args.get(name).filter(|value| !value.is_null())
    }
}
