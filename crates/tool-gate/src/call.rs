use serde_json::{Map, Value};

/// A tool call as the gate sees it.
#[derive(Debug, Clone, Copy)]
pub struct CallRef<'a> {
    /// The tool's name, as the model wrote it.
    pub name: &'a str,
    /// The arguments, as the model wrote them.
    pub args: &'a Map<String, Value>,
}

/// A tool call with arguments of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnedCall {
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub args: Map<String, Value>,
}

/// The keys whose text a tool may take as a path.
const REWRITTEN: [&str; 7] =
    ["file_path", "path", "filePath", "absolute_path", "notebook_path", "dir_path", "directory"];

/// The call for a tool that only takes real paths: every path argument that `mapping` knows is replaced.
///
/// The call given stays as the model wrote it, and belongs into the transcript; only the new one is run.
/// `mapping` gets the text of the argument, and returns `None` to leave it.
pub fn rewrite_paths(call: CallRef<'_>, mapping: impl Fn(&str) -> Option<String>) -> OwnedCall {
    let rewritten = |(key, value): (&String, &Value)| {
        let path = value.as_str().filter(|_| REWRITTEN.contains(&key.as_str()));
        let new = path.and_then(&mapping).map_or_else(|| value.clone(), Value::String);
        (key.clone(), new)
    };
    OwnedCall { name: call.name.to_owned(), args: call.args.iter().map(rewritten).collect() }
}
