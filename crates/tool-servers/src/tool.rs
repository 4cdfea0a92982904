use std::sync::Arc;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Tree, WorkspacePath};
use headstart_toolbox::{ContextItem, ItemUri, Tool, ToolContext, ToolError, ToolOutput, Wording};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Map, Value};

use crate::catalogue::ListedTool;
use crate::config::{Connect, Trust};
use crate::server::Server;
use crate::untrusted::{MAX_TEXT, clean};

/// A tool of a server, as it is offered to a model.
pub struct ServerTool {
    server: Arc<Server>,
    listed: ListedTool,
}

impl ServerTool {
    pub(crate) fn new(server: Arc<Server>, listed: ListedTool) -> Self {
        Self { server, listed }
    }

    /// The name under which a model calls it.
    pub fn name(&self) -> &str {
        &self.listed.schema.name
    }

    /// The server's name for it, cleaned.
    pub fn title(&self) -> String {
        clean(&self.listed.name, 100)
    }

    /// The server's name.
    pub fn server(&self) -> &str {
        self.server.config.name.as_str()
    }

    /// Whether the server says that it only reads, and reaches nothing outside.
    pub fn claims_read_only(&self) -> bool {
        self.listed.claims_read_only
    }

    /// Whether the user lets it run ahead of them: they trust what the server says about its tools, it says that this
    /// one only reads, and, if the server is at an address, they permit requests to it. Only the list from the start
    /// counts; what a server says later changes nothing.
    pub fn may_run_ahead(&self) -> bool {
        let config = &self.server.config;
        let reaches = match config.connect {
            Connect::Command { .. } => true,
            Connect::Http { ahead, .. } => ahead,
        };
        config.trust == Trust::ReadOnlyHints && self.listed.claims_read_only && reaches
    }

    /// The arguments to send.
    fn checked(&self, args: &Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        let checked = self.listed.arguments.checked(args);
        checked.map_err(|message| ToolError::InvalidArgument { tool: self.name().to_owned(), message })
    }

    fn failed(&self, cause: &str) -> ToolError {
        ToolError::failed(format!("tool server {}: {cause}", self.server()))
    }
}

#[async_trait]
impl Tool for ServerTool {
    fn schema(&self) -> ToolSchema {
        self.listed.schema.clone()
    }

    fn wording(&self) -> Wording {
        Wording::of_title(&format!("{} of the server {}", self.title(), self.server()))
    }

    fn check_arguments(&self, args: &Map<String, Value>) -> Result<(), ToolError> {
        self.checked(args).map(|_| ())
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let args = self.checked(args)?;
        let connection = if context.attended {
            self.server.turn_connection().await
        } else {
            // The gate and the engine check both too. Even if they fail, no server may write ahead of the user, or
            // answer about other files than the work sees.
            if !self.may_run_ahead() {
                return Err(self.failed("it is not asked ahead of its user"));
            }
            if context.view.is_staged(&WorkspacePath::root()) {
                return Err(self.failed("it sees the real files, and some are staged only"));
            }
            self.server.speculative_connection(context.view).await
        };
        let connection = connection.map_err(|cause| self.failed(&cause))?;
        let called = connection.call(&self.listed.name, args).await;
        let result = called.map_err(|cause| self.failed(&cause))?;
        // A server may repeat what it was sent.
        let text = connection.without_secrets(&text_of(&result));
        if result.is_error == Some(true) {
            return Err(self.failed(if text.is_empty() {
                "the tool failed and does not say why"
            } else {
                &text
            }));
        }
        if text.is_empty() {
            return Ok(ToolOutput::Text("(the tool answered nothing)".to_owned()));
        }
        let without_secrets = |text: &str| connection.without_secrets(text);
        let items = items_of(&result, &self.title(), &context.gate.workspace, without_secrets);
        // If all items together are too long, they are cut as one text.
        let is_whole = items.iter().map(|item| item.content.len() + 2).sum::<usize>() <= MAX_TEXT;
        Ok(if is_whole && !items.is_empty() { ToolOutput::of(items) } else { ToolOutput::Text(text) })
    }
}

/// The parts of a result, if one of them has an address.
fn items_of(
    result: &CallToolResult,
    title: &str,
    workspace: &str,
    without_secrets: impl Fn(&str) -> String,
) -> Vec<ContextItem> {
    let item = |content: &ContentBlock| {
        let (name, uri) = match content {
            ContentBlock::Resource(embedded) => {
                let uri = resource(&embedded.resource, 0).0;
                (uri.rsplit('/').next().unwrap_or_default().to_owned(), Some(uri))
            }
            ContentBlock::ResourceLink(link) => (clean(&link.name, 100), Some(clean(&link.uri, 500))),
            _ => (title.to_owned(), None),
        };
        let uri = uri.map(|uri| without_secrets(&uri));
        ContextItem {
            name: without_secrets(&name),
            description: uri.clone().unwrap_or_default(),
            content: without_secrets(content_text(content).trim_end_matches('\n')),
            uri: uri.map(|uri| ItemUri::of(&uri, workspace)),
            ..ContextItem::default()
        }
    };
    let items: Vec<_> = result.content.iter().map(item).collect();
    if items.iter().any(|item| item.uri.is_some()) { items } else { Vec::new() }
}

/// The address of a resource, and its text for the model.
pub(crate) fn resource(contents: &ResourceContents, limit: usize) -> (String, String) {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => (clean(uri, 500), clean(text, limit)),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let kind = mime_type.as_deref().unwrap_or("of no known kind");
            (clean(uri, 500), not_shown("a file", kind, blob))
        }
        _ => (String::new(), "[a resource of an unknown kind: not shown]".to_owned()),
    }
}

fn not_shown(name: &str, kind: &str, base64: &str) -> String {
    format!("[{name}, {}, about {} bytes: not shown]", clean(kind, 60), base64.len() / 4 * 3)
}

/// The text of a result for the model.
fn text_of(result: &CallToolResult) -> String {
    let mut parts: Vec<String> =
        result.content.iter().map(content_text).filter(|part| !part.is_empty()).collect();
    if let (true, Some(value)) = (parts.is_empty(), &result.structured_content) {
        parts.push(clean(&value.to_string(), MAX_TEXT));
    }
    let text = parts.join("\n\n");
    if text.len() <= MAX_TEXT { text } else { clean(&text, MAX_TEXT) }
}

pub(crate) fn content_text(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => clean(&text.text, MAX_TEXT),
        ContentBlock::Image(image) => not_shown("a picture", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => not_shown("sound", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => {
            let (uri, text) = resource(&embedded.resource, MAX_TEXT);
            format!("{uri}:\n{text}")
        }
        ContentBlock::ResourceLink(link) => {
            format!("[a link to {}, {}: not followed]", clean(&link.uri, 500), clean(&link.name, 100))
        }
        _ => "[content of an unknown kind: not shown]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_resource_has_its_place_and_one_outside_is_only_shown() {
        let result: CallToolResult = serde_json::from_value(json!({ "content": [
            {"type": "text", "text": "two files\n"},
            {"type": "resource", "resource": {"uri": "file:///home/ada/project/src/a.rs", "text": "fn a() {}"}},
            {"type": "resource_link", "uri": "file:///etc/passwd", "name": "the key k-1"},
        ]}))
        .unwrap();
        let items = items_of(&result, "find", "/home/ada/project", |text| text.replace("k-1", "***"));
        let names: Vec<_> = items.iter().map(|item| &*item.name).collect();
        assert_eq!(names, ["find", "a.rs", "the key ***"]);
        let file = ItemUri::File { path: WorkspacePath::parse("src/a.rs").unwrap(), lines: None };
        assert_eq!((&items[0].uri, &items[1].uri), (&None, &Some(file)));
        assert_eq!(items[2].uri, Some(ItemUri::Url("file:///etc/passwd".to_owned())));
        let read = "two files\n\nfile:///home/ada/project/src/a.rs:\nfn a() {}\n\n\
            [a link to file:///etc/passwd, the key ***: not followed]";
        assert_eq!(ToolOutput::of(items).into_text(), read);

        let words: CallToolResult =
            serde_json::from_value(json!({ "content": [{"type": "text", "text": "seen"}] })).unwrap();
        assert!(items_of(&words, "find", "/", str::to_owned).is_empty());
    }
}
