use std::time::Duration;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_toolbox::{ContextItem, ItemUri, Tool, ToolContext, ToolError, ToolOutput, Wording};
use reqwest::Client;
use serde_json::{Map, Value, json};

use crate::arguments::Arguments;
use crate::connection::client;
use crate::request_failure::RequestFailure;
use crate::untrusted::{MAX_TEXT, clean, clean_schema};

/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 1024 * 1024;

/// A tool at an address.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpToolConfig {
    /// The name under which a model calls it.
    pub name: String,
    /// Where a call is sent, as `{"arguments": {…}}`. The answer is `{"output": [{"name", "description", "content",
    /// "uri", "status", "hidden"}]}`.
    pub url: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Map<String, Value>,
    /// The time limit for an answer.
    pub timeout: Duration,
}

/// A tool at an address, as it is offered to a model. It is never called ahead of the user.
pub struct HttpTool {
    schema: ToolSchema,
    arguments: Arguments,
    url: String,
    timeout: Duration,
    client: Client,
}

impl HttpTool {
    /// The arguments to send.
    fn checked(&self, args: &Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        let checked = self.arguments.checked(args);
        checked.map_err(|message| ToolError::InvalidArgument { tool: self.schema.name.clone(), message })
    }

    /// Makes the tool. The error says what is wrong with its configuration.
    pub fn new(config: &HttpToolConfig) -> Result<Self, String> {
        let parameters = clean_schema(&config.parameters)?;
        let arguments = Arguments::new(&parameters)?;
        let description = clean(&config.description, MAX_TEXT);
        let schema = ToolSchema { name: config.name.clone(), description, parameters };
        Ok(Self { schema, arguments, url: config.url.clone(), timeout: config.timeout, client: client()? })
    }

    async fn ask(&self, args: Map<String, Value>, workspace: &str) -> Result<ToolOutput, RequestFailure> {
        let connection_failure = |error: reqwest::Error| {
            let error = error.without_url();
            RequestFailure::new(clean(&error.to_string(), 500), error)
        };
        let request = self.client.post(&self.url).json(&json!({ "arguments": args }));
        let mut answer = request.send().await.map_err(connection_failure)?;
        let status = answer.status();
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(connection_failure)? {
            if MAX_ANSWER < body.len() + piece.len() {
                return Err(format!("its answer is longer than {MAX_ANSWER} bytes").into());
            }
            body.extend_from_slice(&piece);
        }
        if !status.is_success() {
            let words = clean(String::from_utf8_lossy(&body).trim(), 500);
            return Err(
                format!("it answered {status}{}{words}", if words.is_empty() { "" } else { ": " }).into()
            );
        }
        let wrong = || "its answer is not of the form {\"output\": [{\"content\": …}]}".to_owned();
        let answer: Value =
            serde_json::from_slice(&body).map_err(|error| RequestFailure::new(wrong(), error))?;
        let items = answer.get("output").and_then(Value::as_array).ok_or_else(wrong)?;
        let output = ToolOutput::of(items.iter().map(|item| self.item(item, workspace)));
        let text = output.text();
        // If all items together are too long, they are cut as one text.
        Ok(if text.len() <= MAX_TEXT { output } else { ToolOutput::Text(clean(&text, MAX_TEXT)) })
    }

    /// An item of the answer. Without content it says nothing.
    fn item(&self, item: &Value, workspace: &str) -> ContextItem {
        let text = |field: &str, most| clean(item[field].as_str().unwrap_or_default(), most);
        let name = text("name", 100);
        let uri = item["uri"].as_str().or_else(|| item["uri"]["value"].as_str());
        ContextItem {
            name: if name.is_empty() { self.schema.name.clone() } else { name },
            description: text("description", 500),
            content: text("content", MAX_TEXT).trim_end_matches('\n').to_owned(),
            uri: uri.map(|uri| ItemUri::of(&clean(uri, 500), workspace)),
            status: Some(text("status", 100)).filter(|status| !status.is_empty()),
            hidden: item["hidden"].as_bool().unwrap_or_default(),
        }
    }
}

#[async_trait]
impl Tool for HttpTool {
    fn schema(&self) -> ToolSchema {
        self.schema.clone()
    }

    fn wording(&self) -> Wording {
        Wording::of_title(&self.schema.name)
    }

    fn check_arguments(&self, args: &Map<String, Value>) -> Result<(), ToolError> {
        self.checked(args).map(|_| ())
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let name = &self.schema.name;
        let args = self.checked(args)?;
        let failed =
            |cause: RequestFailure| cause.map_message(|why| format!("http tool {name}: {why}")).into_error();
        if !context.attended {
            return Err(failed("it is not asked ahead of its user".to_owned().into()));
        }
        let late = || format!("it did not answer within {} s", self.timeout.as_secs());
        let answered = tokio::time::timeout(self.timeout, self.ask(args, &context.gate.workspace)).await;
        answered.unwrap_or_else(|_| Err(late().into())).map_err(failed)
    }
}
