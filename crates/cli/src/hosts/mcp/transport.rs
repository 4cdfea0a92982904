//! Messages on standard input and output. Unlike the transport of the protocol's library this one also answers a line
//! that is not JSON or is too long, because a client would wait for ever for the answer to a request in it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, InitializeRequestParams, JsonRpcMessage, PaginatedRequestParams};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, Stdin, Stdout};
use tokio::sync::Mutex;

use crate::hosts::lines::{self, InputLine, LineReader};
use crate::hosts::rpc::{self, Envelope, INVALID_PARAMS, PARSE_ERROR, RejectedLine};

type Write = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

pub(super) struct StdioTransport {
    input: LineReader<Stdin>,
    output: Arc<Mutex<Stdout>>,
    /// Whether a request has come. What comes before it and has no answer is ignored, because the library would end.
    has_begun: bool,
    /// The answer to a line that is no message, while it is written. It is kept here because the future of `receive` may
    /// be dropped at any time.
    refusal: Option<Write>,
}

impl StdioTransport {
    pub(super) fn new() -> Self {
        Self {
            input: LineReader::new(tokio::io::stdin()),
            output: Arc::new(Mutex::new(tokio::io::stdout())),
            has_begun: false,
            refusal: None,
        }
    }

    /// Writes a message on a line of its own.
    fn write(&self, message: &impl Serialize) -> Write {
        let output = Arc::clone(&self.output);
        let line = serde_json::to_vec(message);
        Box::pin(async move {
            let mut line = line?;
            line.push(b'\n');
            let mut output = output.lock().await;
            output.write_all(&line).await?;
            output.flush().await
        })
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.write(&message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(refusal) = &mut self.refusal {
                // The client no longer reads if this fails.
                refusal.await.ok()?;
                self.refusal = None;
            }
            let rejected = match self.input.next().await.ok()?? {
                InputLine::Whole(line) => match message(&line) {
                    Ok(Some(message)) => {
                        self.has_begun |= matches!(message, JsonRpcMessage::Request(_));
                        if self.has_begun {
                            return Some(message);
                        }
                        continue;
                    }
                    Ok(None) => continue,
                    Err(rejected) => rejected,
                },
                InputLine::TooLong { id } => {
                    RejectedLine { id, code: PARSE_ERROR, message: lines::too_long() }
                }
            };
            self.refusal = Some(self.write(&response(&rejected)));
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}

/// The answer to a line that is no message.
fn response(RejectedLine { id, code, message }: &RejectedLine) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Reads a message from a line; `None` for an empty line, and for a notification that is not of the protocol, because
/// notifications have no answer.
fn message(line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, RejectedLine> {
    /// Some systems write it before a text. It is no part of the text.
    const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let Envelope { id, method, mut fields } = rpc::envelope(line)?;
    let params = fields.remove("params").unwrap_or_else(|| json!({}));
    if let (Some(id), Some(why)) = (&id, method.and_then(|method| wrong_params(&method, params))) {
        return Err(RejectedLine { id: id.clone(), code: INVALID_PARAMS, message: why });
    }
    match (serde_json::from_slice(line), id) {
        (Ok(message), _) => Ok(Some(message)),
        (Err(_), None) => Ok(None),
        (Err(error), Some(id)) => Err(RejectedLine::invalid(id, &error.to_string())),
    }
}

/// Why the parameters of a request cannot be read, if they cannot. The library would take such a request for one of an
/// unknown method.
fn wrong_params(method: &str, params: Value) -> Option<String> {
    match method {
        "initialize" => rpc::read::<InitializeRequestParams>("params", params).err(),
        "tools/list" => rpc::read::<PaginatedRequestParams>("params", params).err(),
        "tools/call" => rpc::read::<CallToolRequestParams>("params", params).err(),
        _ => None,
    }
}
