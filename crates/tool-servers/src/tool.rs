use std::sync::Arc;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Tree, WorkspacePath};
use headstart_toolbox::{Tool, ToolContext, ToolError, Wording};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Map, Value};

use crate::catalogue::Listed;
use crate::config::{Connect, Trust};
use crate::server::Server;
use crate::untrusted::{MAX_TEXT, clean};

/// A tool of a server, as it is offered to a model.
pub struct ServerTool {
    server: Arc<Server>,
    listed: Listed,
}

impl ServerTool {
    pub(crate) fn new(server: Arc<Server>, listed: Listed) -> Self {
        Self { server, listed }
    }

    /// The name under which a model calls it.
    pub fn name(&self) -> &str {
        &self.listed.schema.name
    }

    /// As the server calls it, cleaned.
    pub fn title(&self) -> String {
        clean(&self.listed.name, 100)
    }

    /// The server's name.
    pub fn server(&self) -> &str {
        self.server.config.name.as_str()
    }

    /// Whether the server says that it only reads, in a world of its own.
    pub fn says_it_reads(&self) -> bool {
        self.listed.says_it_reads
    }

    /// Whether its user lets it run ahead of them: they trust what the server says of its tools, it says that this one only reads, and where the
    /// server is behind an address they let queries leave the machine. As the list was at the start: what a server says later changes nothing.
    pub fn may_run_ahead(&self) -> bool {
        let config = &self.server.config;
        let reaches = match config.connect {
            Connect::Command { .. } => true,
            Connect::Http { ahead, .. } => ahead,
        };
        config.trust == Trust::ReadOnlyHints && self.listed.says_it_reads && reaches
    }

    fn failed(&self, cause: &str) -> ToolError {
        ToolError::Failed { message: format!("tool server {}: {cause}", self.server()) }
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

    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError> {
        let args = self
            .listed
            .arguments
            .checked(args)
            .map_err(|message| ToolError::InvalidArgument { tool: self.name().to_owned(), message })?;
        let connection = if context.attended {
            self.server.for_turns().await
        } else {
            // The gate and the engine see to both; no mistake of theirs has a server write ahead of its user, or answer of other files.
            if !self.may_run_ahead() {
                return Err(self.failed("it is not asked ahead of its user"));
            }
            if context.view.is_staged(&WorkspacePath::root()) {
                return Err(self.failed("it sees the real files, and some are staged only"));
            }
            self.server.for_work_ahead(context.view).await
        };
        let connection = connection.map_err(|cause| self.failed(&cause))?;
        let called = connection.call(&self.listed.name, args).await;
        let result = called.map_err(|cause| self.failed(&cause))?;
        // A server may say back what it was sent.
        let text = connection.without_secrets(&text_of(&result));
        if result.is_error == Some(true) {
            return Err(self.failed(if text.is_empty() {
                "the tool failed and does not say why"
            } else {
                &text
            }));
        }
        Ok(if text.is_empty() { "(the tool answered nothing)".to_owned() } else { text })
    }
}

/// The address of a resource, and what the model reads of it.
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

/// What the model reads of a result.
fn text_of(result: &CallToolResult) -> String {
    let mut parts: Vec<String> = result.content.iter().map(part).filter(|part| !part.is_empty()).collect();
    if let (true, Some(value)) = (parts.is_empty(), &result.structured_content) {
        parts.push(clean(&value.to_string(), MAX_TEXT));
    }
    let text = parts.join("\n\n");
    if text.len() <= MAX_TEXT { text } else { clean(&text, MAX_TEXT) }
}

pub(crate) fn part(content: &ContentBlock) -> String {
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
