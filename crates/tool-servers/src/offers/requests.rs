//! Asking servers for what they offer.

use futures::future::join_all;
use rmcp::model::Role;

use super::{ListedPrompt, ListedResource};
use crate::servers::ToolServers;
use crate::tool::{content_text, resource};
use crate::untrusted::{MAX_TEXT, clean};

/// The most bytes of a resource.
const MAX_RESOURCE: usize = 1024 * 1024;

impl ToolServers {
    /// The resources of all servers that list them in time, at most a thousand of each.
    pub async fn resources(&self) -> Vec<ListedResource> {
        let offers = join_all(self.servers().iter().map(|server| server.offers())).await;
        offers.into_iter().flatten().flat_map(|offers| offers.resources.clone()).collect()
    }

    /// The prompts of all servers, at most a hundred of each.
    pub async fn prompts(&self) -> Vec<ListedPrompt> {
        let offers = join_all(self.servers().iter().map(|server| server.offers())).await;
        offers.into_iter().flatten().flat_map(|offers| offers.prompts.clone()).collect()
    }

    /// The text of a resource, cleaned; `None` if there is no such server.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Option<Result<String, String>> {
        let server = self.server(server)?;
        let read = async {
            let connection = server.turn_connection().await?;
            let contents = connection.read(uri).await?;
            let parts: Vec<_> = contents.iter().map(|contents| resource(contents, MAX_RESOURCE).1).collect();
            let text = connection.without_secrets(&parts.join("\n\n"));
            if text.trim().is_empty() {
                Err("it says nothing".to_owned())
            } else {
                Ok(clean(&text, MAX_RESOURCE))
            }
        };
        Some(read.await)
    }

    /// The text of a prompt with these arguments, as the user wrote them; cleaned. `None` if there is no such server.
    pub async fn prompt(&self, server: &str, name: &str, written: &str) -> Option<Result<String, String>> {
        let server = self.server(server)?;
        let read = async {
            let offers = server.offers().await?;
            let Some(prompt) = offers.prompts.iter().find(|prompt| prompt.name == name) else {
                let known: Vec<_> = offers.prompts.iter().map(|prompt| prompt.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(format!("it has no prompt {name}; it has {known}"));
            };
            let args = prompt.read(written)?;
            let connection = server.turn_connection().await?;
            let messages = connection.prompt(name, args).await?;
            let parts = messages.iter().map(|message| {
                let text = content_text(&message.content);
                if message.role == Role::User { text } else { format!("(the model is to have said:) {text}") }
            });
            let text = parts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
            let text = connection.without_secrets(&text);
            if text.trim().is_empty() {
                Err("it says nothing".to_owned())
            } else {
                Ok(clean(&text, MAX_TEXT))
            }
        };
        Some(read.await)
    }
}
