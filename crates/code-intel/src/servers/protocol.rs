//! What is read of a server's answers. Names and shapes are those of the Language Server Protocol 3.18; what nobody
//! reads is left out.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::Position;

/// From a position up to, but without, another.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Range {
    pub(crate) start: Position,
    pub(crate) end: Position,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Location {
    pub(crate) uri: String,
    pub(crate) range: Range,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LocationLink {
    pub(crate) target_uri: String,
    pub(crate) target_selection_range: Range,
}

/// The three forms of an answer with places.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Places {
    One(Location),
    List(Vec<Location>),
    Links(Vec<LocationLink>),
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Hover {
    /// A text, an object with a `value`, or a list of these.
    pub(crate) contents: Value,
}

/// A name with the place where it is.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SymbolInformation {
    pub(crate) name: String,
    pub(crate) kind: SymbolKind,
    pub(crate) container_name: Option<String>,
    pub(crate) location: Location,
}

/// A name of the file that was asked about, with the names inside it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DocumentSymbol {
    pub(crate) name: String,
    pub(crate) kind: SymbolKind,
    pub(crate) range: Range,
    pub(crate) selection_range: Range,
    pub(crate) children: Option<Vec<DocumentSymbol>>,
}

/// The two forms of the names of a file. An empty list is both.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum DocumentSymbols {
    Flat(Vec<SymbolInformation>),
    Nested(Vec<DocumentSymbol>),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(transparent)]
pub(crate) struct SymbolKind(usize);

impl SymbolKind {
    /// In the protocol's order, which begins with 1.
    const NAMES: [&str; 26] = [
        "file",
        "module",
        "namespace",
        "package",
        "class",
        "method",
        "property",
        "field",
        "constructor",
        "enum",
        "interface",
        "function",
        "variable",
        "constant",
        "string",
        "number",
        "boolean",
        "array",
        "object",
        "key",
        "null",
        "enum member",
        "struct",
        "event",
        "operator",
        "type parameter",
    ];

    pub(crate) fn name(self) -> &'static str {
        self.0.checked_sub(1).and_then(|index| Self::NAMES.get(index)).unwrap_or(&"symbol")
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Diagnostic {
    pub(crate) range: Range,
    /// From 1, an error, to 4, a hint.
    pub(crate) severity: Option<u32>,
    /// A number or a text.
    pub(crate) code: Option<Value>,
    pub(crate) source: Option<String>,
    pub(crate) message: Message,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Message {
    Text(String),
    Markup { value: String },
}

impl Message {
    pub(crate) fn into_text(self) -> String {
        let (Self::Text(text) | Self::Markup { value: text }) = self;
        text
    }
}

/// A code action, or a command, which this client never has a server run.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CodeAction {
    pub(crate) title: String,
    pub(crate) kind: Option<String>,
    pub(crate) is_preferred: Option<bool>,
    pub(crate) edit: Option<WorkspaceEdit>,
    disabled: Option<Value>,
    command: Option<Value>,
    data: Option<Value>,
}

impl CodeAction {
    /// Whether it can be done now.
    pub(crate) fn is_enabled(&self) -> bool {
        self.disabled.is_none()
    }

    /// Whether it is a command, which has its name where an action has an object, if any.
    pub(crate) fn is_command(&self) -> bool {
        self.command.as_ref().is_some_and(Value::is_string)
    }

    /// Whether it can do nothing without a command.
    pub(crate) fn needs_command(&self) -> bool {
        self.is_command() || self.edit.is_none() && self.data.is_none()
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkspaceEdit {
    pub(crate) changes: Option<BTreeMap<String, Vec<TextEdit>>>,
    pub(crate) document_changes: Option<Vec<DocumentChange>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum DocumentChange {
    File(FileOperation),
    Text(TextDocumentEdit),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub(crate) enum FileOperation {
    Create { uri: String, options: Option<WriteOptions> },
    Rename { old_uri: String, new_uri: String, options: Option<WriteOptions> },
    Delete { uri: String, options: Option<DeleteOptions> },
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WriteOptions {
    pub(crate) overwrite: bool,
    pub(crate) ignore_if_exists: bool,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeleteOptions {
    pub(crate) recursive: bool,
    pub(crate) ignore_if_not_exists: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TextDocumentEdit {
    pub(crate) text_document: VersionedDocument,
    pub(crate) edits: Vec<Edit>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct VersionedDocument {
    pub(crate) uri: String,
    pub(crate) version: Option<i32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Edit {
    Text(TextEdit),
    /// A text with blanks for a person to fill in.
    Snippet {
        #[serde(rename = "snippet")]
        _snippet: Value,
    },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TextEdit {
    pub(crate) range: Range,
    pub(crate) new_text: String,
}
