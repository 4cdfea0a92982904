use headstart_tool_gate::BuiltinTool;
use serde_json::{Map, Value};

use crate::ToolError;

/// The spellings of the argument that holds a path; [`BuiltinTool::path_arg`] takes the one that is given.
pub(crate) const PATH_NAMES: [&str; 4] = ["file_path", "path", "filePath", "notebook_path"];

/// The arguments of one call, read by name and type, with errors that say what was expected.
///
/// A key that the tool does not have is an error: a model that meant something by it should hear that it was not
/// heard. `null` counts as absent.
pub(crate) struct Arguments<'a> {
    tool: BuiltinTool,
    args: &'a Map<String, Value>,
}

impl<'a> Arguments<'a> {
    /// `known` are the tool's arguments, the path's own name among them; other spellings of a path are taken too.
    pub(crate) fn new(
        tool: BuiltinTool,
        args: &'a Map<String, Value>,
        known: &[&str],
    ) -> Result<Self, ToolError> {
        let has_path = known.iter().any(|name| PATH_NAMES.contains(name));
        let unknown = args
            .keys()
            .find(|key| !known.contains(&key.as_str()) && !(has_path && PATH_NAMES.contains(&key.as_str())));
        let arguments = Self { tool, args };
        match unknown {
            None => Ok(arguments),
            Some(key) => {
                Err(arguments
                    .invalid(&format!("there is no argument {key:?}; it takes {}", known.join(", "))))
            }
        }
    }

    /// The path of the call as the gate takes it, if one is given.
    pub(crate) fn path(&self) -> Result<Option<&'a str>, ToolError> {
        let given: Vec<&str> = PATH_NAMES.into_iter().filter(|name| self.value(name).is_some()).collect();
        if let [first, second, ..] = given[..] {
            return Err(
                self.invalid(&format!("{first} and {second} name the same argument; give one of them"))
            );
        }
        match (self.tool.path_arg(self.args), given.first()) {
            (Some(path), _) => Ok(Some(path)),
            (None, Some(name)) => Err(self.mistyped(name, "a string")),
            (None, None) => Ok(None),
        }
    }

    /// The path of a call that cannot do without; `name` is how the tool calls it.
    pub(crate) fn required_path(&self, name: &str) -> Result<&'a str, ToolError> {
        self.path()?.ok_or_else(|| self.missing(name, "a string"))
    }

    pub(crate) fn required_text(&self, name: &str) -> Result<&'a str, ToolError> {
        self.text(name)?.ok_or_else(|| self.missing(name, "a string"))
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, ToolError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.mistyped(name, "a string")),
        }
    }

    /// A whole number that is not negative; `10.0` is one too, some models write it so.
    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>, ToolError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let whole = value.as_u64().or_else(|| {
            let text = value.as_f64().filter(|number| number.fract() == 0.0)?.to_string();
            text.parse().ok()
        });
        let whole = whole.ok_or_else(|| self.mistyped(name, "a whole number that is not negative"))?;
        Ok(Some(usize::try_from(whole).unwrap_or(usize::MAX)))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, ToolError> {
        match self.value(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.mistyped(name, "true or false")),
        }
    }

    pub(crate) fn invalid(&self, message: &str) -> ToolError {
        ToolError::InvalidArgument { tool: self.tool.name().to_owned(), message: message.to_owned() }
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
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
        // A number of the wrong kind (-1, 1.5) is told apart by its value.
        let found = match self.value(name) {
            Some(Value::Number(number)) => format!("{number}"),
            _ => found.to_owned(),
        };
        self.invalid(&format!("the argument {name} must be {expected}, not {found}"))
    }
}
