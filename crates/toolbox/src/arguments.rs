use headstart_forked_query::ToolSchema;
use headstart_tool_gate::Declaration;
use serde_json::{Map, Value};

use crate::ToolError;

/// The most arguments that one error names.
const MAX_NAMED: usize = 20;

/// The arguments of one call, read by name and type, with errors that say what was expected.
///
/// A key that the tool does not have is an error, because a model that meant something by it should learn that it has
/// no effect. `null` counts as absent.
pub struct Arguments<'a> {
    tool: &'static Declaration,
    args: &'a Map<String, Value>,
}

impl<'a> Arguments<'a> {
    /// `known` are the tool's arguments. The path may have any of the names that the tool's declaration has for it.
    pub fn new(
        tool: &'static Declaration,
        args: &'a Map<String, Value>,
        known: &[&str],
    ) -> Result<Self, ToolError> {
        let arguments = Self { tool, args };
        let is_known = |key: &str| known.contains(&key) || arguments.is_path_name(key);
        match args.keys().find(|key| !is_known(key)) {
            None => Ok(arguments),
            Some(key) => {
                Err(arguments
                    .invalid(&format!("there is no argument {key:?}; it takes {}", known.join(", "))))
            }
        }
    }

    /// The path of the call as the gate reads it (for the shell, the folder), if one is given.
    pub(crate) fn path(&self) -> Result<Option<&'a str>, ToolError> {
        self.tool.path_argument(self.args).map_err(|error| self.invalid(&error.to_string()))
    }

    /// The path of a call that requires one. `name` is the tool's own name for it.
    pub(crate) fn required_path(&self, name: &str) -> Result<&'a str, ToolError> {
        self.path()?.ok_or_else(|| self.missing(name, "a string"))
    }

    /// A required text.
    pub fn required_text(&self, name: &str) -> Result<&'a str, ToolError> {
        self.text(name)?.ok_or_else(|| self.missing(name, "a string"))
    }

    /// An optional text.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, ToolError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.mistyped(name, "a string")),
        }
    }

    /// A whole number that is not negative. `10.0` is accepted, because some models write numbers so.
    pub fn count(&self, name: &str) -> Result<Option<usize>, ToolError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let whole = value.as_u64().or_else(|| value.as_f64().and_then(whole));
        let whole = whole.ok_or_else(|| self.mistyped(name, "a whole number that is not negative"))?;
        Ok(Some(usize::try_from(whole).unwrap_or(usize::MAX)))
    }

    /// Whether it is `true`; absent counts as `false`.
    pub fn flag(&self, name: &str) -> Result<bool, ToolError> {
        match self.value(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.mistyped(name, "true or false")),
        }
    }

    /// A required list, whose elements the tool reads itself.
    #[cfg(feature = "more")]
    pub(crate) fn list(&self, name: &str) -> Result<&'a [Value], ToolError> {
        match self.value(name) {
            None => Err(self.missing(name, "a list")),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(self.mistyped(name, "a list")),
        }
    }

    /// The error for a call with such arguments.
    pub fn invalid(&self, message: &str) -> ToolError {
        ToolError::InvalidArgument { tool: self.tool.name.to_string(), message: message.to_owned() }
    }

    /// Whether the gate reads an argument of this name as the path; found out with a call that has no other argument.
    fn is_path_name(&self, name: &str) -> bool {
        let probe = Map::from_iter([(name.to_owned(), Value::from("."))]);
        self.tool.path_argument(&probe).is_ok_and(|path| path.is_some())
    }

    /// An argument as it was given; `None` if it is absent or `null`.
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.args.get(name).filter(|value| !value.is_null())
    }

    fn missing(&self, name: &str, expected: &str) -> ToolError {
        self.invalid(&format!("the argument {name} is missing; give {expected}"))
    }

    fn mistyped(&self, name: &str, expected: &str) -> ToolError {
        let found = match self.value(name) {
            None | Some(Value::Null) => "nothing",
            Some(Value::Bool(_)) => "a boolean",
            Some(Value::Number(_)) => "a number",
            Some(Value::String(_)) => "a string",
            Some(Value::Array(_)) => "an array",
            Some(Value::Object(_)) => "an object",
        };
        // For a number of the wrong kind (-1, 1.5) the error shows the value.
        let found = match self.value(name) {
            Some(Value::Number(number)) => format!("{number}"),
            _ => found.to_owned(),
        };
        self.invalid(&format!("the argument {name} must be {expected}, not {found}"))
    }
}

/// The error for arguments that are not a JSON object. It says which ones the tool takes.
pub(crate) fn malformed_arguments(schema: &ToolSchema) -> ToolError {
    let required = schema.parameters["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    let argument = |(name, property): (&String, &Value)| {
        let words = [property["type"].as_str(), is_required(name).then_some("required")];
        let words: Vec<_> = words.into_iter().flatten().collect();
        if words.is_empty() { name.clone() } else { format!("{name} ({})", words.join(", ")) }
    };
    let properties = schema.parameters["properties"].as_object().into_iter().flatten();
    let takes: Vec<_> = properties.take(MAX_NAMED).map(argument).collect();
    let takes = if takes.is_empty() { "none".to_owned() } else { takes.join(", ") };
    let message = format!("the arguments are not a JSON object, so nothing ran; it takes {takes}");
    ToolError::InvalidArgument { tool: schema.name.clone(), message }
}

/// A float with a whole value, as an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it has no fraction and is not below zero; what is above the largest number is left out"
)]
fn whole(number: f64) -> Option<u64> {
    let fits = number.is_sign_positive() && number.fract() == 0.0 && number < 18_446_744_073_709_551_616.0;
    fits.then_some(number as u64)
}
