//! Answers of tools: a text, or items with names and places.

use std::fmt::Write as _;

use headstart_overlay_fs::WorkspacePath;
use serde::{Deserialize, Serialize};

use crate::output::truncate_output;

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutput {
    /// A text, as the model reads it.
    Text(String),
    /// Things that the tool found, looked at or did. What the model reads consists of them
    /// ([`into_text`](Self::into_text)).
    Items(Vec<ContextItem>),
}

/// One thing that a tool found, looked at or did, as a front end can list and open it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextItem {
    /// Its name: `auth.rs (10-32)`.
    pub name: String,
    /// More about it in a line, such as its path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What the model reads of it.
    pub content: String,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<ItemUri>,
    /// The result of a command: `exit code 1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether only the model reads it, and no front end lists it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// Where an item is. In JSON `{"type": "file", "value": "src/a.rs", "lines": [10, 32]}` or `{"type": "url", "value": "https://…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "ItemUriJson", from = "ItemUriJson")]
pub enum ItemUri {
    /// A place of the workspace. A front end may open it.
    File {
        /// The first and the last line, from 1; `None` if it is about the whole file.
        path: WorkspacePath,
        /// Its first and its last line, from 1, where it is not about the file as a whole.
        lines: Option<(u32, u32)>,
    },
    /// Anything else, including a path outside the workspace. It is shown and never opened.
    Url(String),
}

/// The form in JSON. An address that does not name a path of the workspace is never opened, whoever wrote it.
#[derive(Serialize, Deserialize)]
struct ItemUriJson {
    #[serde(rename = "type")]
    kind: String,
    value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<(u32, u32)>,
}

impl From<ItemUri> for ItemUriJson {
    fn from(uri: ItemUri) -> Self {
        match uri {
            // A name that is not text cannot be written in an address, and so not be opened by it.
            ItemUri::File { path, .. }
                if WorkspacePath::parse(&path.to_string()).ok() != Some(path.clone()) =>
            {
                Self { kind: "url".to_owned(), value: path.to_string(), lines: None }
            }
            ItemUri::File { path, lines } => Self { kind: "file".to_owned(), value: path.to_string(), lines },
            ItemUri::Url(value) => Self { kind: "url".to_owned(), value, lines: None },
        }
    }
}

impl From<ItemUriJson> for ItemUri {
    fn from(ItemUriJson { kind, value, lines }: ItemUriJson) -> Self {
        match WorkspacePath::parse(&value) {
            Ok(path) if kind == "file" => Self::File { path, lines },
            _ => Self::Url(value),
        }
    }
}

impl ItemUri {
    /// The meaning of an address from elsewhere: a `file://` address below the workspace's folder is a file of the
    /// workspace.
    pub fn of(uri: &str, workspace: &str) -> Self {
        let below = uri
            .strip_prefix("file://")
            .and_then(|path| path.strip_prefix(workspace.trim_end_matches('/')))
            .and_then(|path| path.strip_prefix('/'));
        // With escaped characters the path means another file than its letters say.
        match below.filter(|path| !path.contains(['%', '?', '#'])).map(WorkspacePath::parse) {
            Some(Ok(path)) => Self::File { path, lines: None },
            _ => Self::Url(uri.to_owned()),
        }
    }
}

impl ContextItem {
    /// A file, or lines of it.
    pub fn of_file(path: &WorkspacePath, lines: Option<(u32, u32)>, content: String) -> Self {
        let file = path
            .file_name()
            .map_or_else(|| path.to_string(), |name| String::from_utf8_lossy(name).into_owned());
        let name = match lines {
            Some((first, last)) if first == last => format!("{file} ({first})"),
            Some((first, last)) => format!("{file} ({first}-{last})"),
            None => file,
        };
        let uri = Some(ItemUri::File { path: path.clone(), lines });
        Self { name, description: path.to_string(), content, uri, ..Self::default() }
    }

    /// What a tool says besides its findings: how to see the rest, what was left out.
    pub(crate) fn of_notes(content: String) -> Self {
        Self { name: "notes".to_owned(), content, hidden: true, ..Self::default() }
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl ToolOutput {
    /// These items, except those without content.
    pub fn of(items: impl IntoIterator<Item = ContextItem>) -> Self {
        Self::Items(items.into_iter().filter(|item| !item.content.is_empty()).collect())
    }

    /// What the model reads.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Items(items) => text_of(items),
        }
    }

    /// The text for the model, and the items of which it consists.
    pub fn into_parts(self) -> (String, Vec<ContextItem>) {
        match self {
            Self::Text(text) => (text, Vec::new()),
            Self::Items(items) => (text_of(&items), items),
        }
    }

    /// What the model reads.
    pub fn into_text(self) -> String {
        self.into_parts().0
    }

    /// The same with at most this many bytes of content, and a note if it was cut.
    pub(crate) fn truncated(self, limit: usize) -> Self {
        let items = match self {
            Self::Text(text) => return Self::Text(truncate_output(text, limit)),
            Self::Items(items) => items,
        };
        if text_of(&items).len() <= limit {
            return Self::Items(items);
        }
        let mut left = limit;
        let cut = |item: ContextItem| {
            let content = (0 < left).then(|| truncate_output(item.content.clone(), left))?;
            left = left.saturating_sub(item.content.len());
            Some(ContextItem { content, ..item })
        };
        Self::Items(items.into_iter().map_while(cut).collect())
    }
}

/// The contents, separated by blank lines. A content that ends with a line end is followed directly, so that lines
/// form a list. A status stands behind its content, unless the content says it in square brackets.
fn text_of(items: &[ContextItem]) -> String {
    let mut text = String::new();
    for item in items.iter().filter(|item| !item.content.is_empty()) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str("\n\n");
        }
        text.push_str(&item.content);
        if let Some(status) = &item.status
            && !item.content.lines().any(|line| line == format!("[{status}]"))
        {
            let line_end = if item.content.ends_with('\n') { "" } else { "\n" };
            let _ = write!(text, "{line_end}[Status: {status}]");
        }
    }
    text
}

#[cfg(test)]
mod tests;
