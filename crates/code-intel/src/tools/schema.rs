use headstart_forked_query::ToolSchema;
use serde_json::{Map, Value, json};

use super::ToolKind;

/// The schema of a tool.
pub(super) fn schema(kind: ToolKind) -> ToolSchema {
    let place = ["path", "line", "symbol"];
    let (description, names, required): (&str, &[&str], &[&str]) = match kind {
        ToolKind::Diagnostics => (
            "What compilers and linters say of the files as they are now: the problems that are new since the work began, \
             those that are gone, and how many are old. Of files without changes it lists the present ones.",
            &["paths", "severity"],
            &[],
        ),
        ToolKind::Definition => ("Where a name is defined: path, line and the line's text.", &place, &place),
        ToolKind::References => {
            ("Where a name is used in the project, its definition included.", &place, &place)
        }
        ToolKind::Hover => ("The type and documentation of a name.", &place, &place),
        ToolKind::Symbols => (
            "The functions, types and other names that a file defines (path), or names of the whole project that are \
             like a query (query).",
            &["path", "query"],
            &[],
        ),
        ToolKind::Rename => (
            "Gives a name another one wherever it is used in the project, in one step.",
            &["path", "line", "symbol", "to"],
            &["path", "line", "symbol", "to"],
        ),
        ToolKind::CodeActions => (
            "The fixes and refactorings that the language's server proposes at a name: their titles. With apply, makes \
             the edit of the one with this title.",
            &["path", "line", "symbol", "kind", "apply"],
            &place,
        ),
    };
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), property(name))).collect();
    ToolSchema::of(kind.name(), description, &Value::Object(properties), required)
}

fn property(name: &str) -> Value {
    match name {
        "path" => json!({
            "type": "string",
            "description": "The file: relative to the workspace, or absolute inside it."
        }),
        "line" => {
            json!({ "type": "integer", "minimum": 1, "description": "The line with the name on it, from 1." })
        }
        "symbol" => json!({ "type": "string", "description": "The name, as it is written on the line." }),
        "query" => json!({ "type": "string", "description": "A part of the names that are looked for." }),
        "to" => json!({ "type": "string", "description": "The new name." }),
        "kind" => json!({
            "type": "string",
            "description": "Only actions of this kind: quickfix, refactor, source.organizeImports, …"
        }),
        "apply" => {
            json!({ "type": "string", "description": "The title of the action to make, exactly as it was listed." })
        }
        "paths" => json!({
            "type": "array",
            "items": { "type": "string" },
            "description": "Only of these files. Default: all that changed, and those that the servers speak of."
        }),
        _ => json!({
            "type": "string",
            "enum": ["error", "warning", "information", "hint"],
            "description": "Nothing less bad than this. Default: warning."
        }),
    }
}
