//! The connection to the client: sends messages and questions, and receives the answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use agent_client_protocol_schema::v1::{
    ClientCapabilities, Error, RequestId, SessionId, SessionNotification, SessionUpdate,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot};

use super::rpc;

/// The most messages that wait for a client that reads slowly. Further senders wait until there is room.
const WAITING: usize = 256;

type RequestResult = Result<Value, Error>;

/// The client, which is cheap to clone.
#[derive(Clone)]
pub(super) struct Client(Arc<ClientState>);

struct ClientState {
    out: mpsc::Sender<Value>,
    pending: Mutex<HashMap<i64, oneshot::Sender<RequestResult>>>,
    next: AtomicI64,
    can: OnceLock<ClientCapabilities>,
}

impl Client {
    /// A client that reads what is written to `output`, and the task that writes. The task ends when the last clone is
    /// dropped, or when the client no longer reads.
    pub(super) fn new(
        mut output: impl tokio::io::AsyncWrite + Unpin + Send + 'static,
    ) -> (Self, tokio::task::JoinHandle<()>) {
        let (out, mut messages) = mpsc::channel::<Value>(WAITING);
        let writing = tokio::spawn(async move {
            let mut lines = Vec::new();
            while let Some(message) = messages.recv().await {
                lines.clear();
                let mut next = Some(message);
                while let Some(message) = next {
                    // Writing to memory cannot fail.
                    let _ = serde_json::to_writer(&mut lines, &message);
                    lines.push(b'\n');
                    next = messages.try_recv().ok();
                }
                if output.write_all(&lines).await.is_err() || output.flush().await.is_err() {
                    return;
                }
            }
        });
        let inner =
            ClientState { out, pending: Mutex::default(), next: AtomicI64::new(1), can: OnceLock::new() };
        (Self(Arc::new(inner)), writing)
    }

    /// The capabilities that the client sent; none before it has sent them.
    pub(super) fn capabilities(&self) -> ClientCapabilities {
        self.0.can.get().cloned().unwrap_or_default()
    }

    /// Stores the client's capabilities. Returns whether it had sent none before.
    pub(super) fn set_capabilities(&self, can: ClientCapabilities) -> bool {
        self.0.can.set(can).is_ok()
    }

    /// Whether the client has sent its capabilities.
    pub(super) fn is_known(&self) -> bool {
        self.0.can.get().is_some()
    }

    /// Completes when the client no longer reads.
    pub(super) async fn disconnected(&self) {
        self.0.out.closed().await;
    }

    pub(super) async fn respond(&self, id: &RequestId, result: Result<impl Serialize, Error>) {
        let result = result.and_then(|result| {
            serde_json::to_value(result).map_err(|error| Error::new(-32603, error.to_string()))
        });
        self.send(rpc::response(id, result)).await;
    }

    pub(super) async fn refuse(&self, id: &RequestId, error: Error) {
        self.send(rpc::response(id, Err(error))).await;
    }

    pub(super) async fn update(&self, session: &SessionId, update: SessionUpdate) {
        let notification = SessionNotification::new(session.clone(), update);
        self.send(rpc::notification("session/update", &notification)).await;
    }

    /// Sends a request and waits for the answer. Dropping the future withdraws the request.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, Error> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.pending().insert(id, answer);
        let pending = PendingRequest { client: self, id };
        self.send(rpc::request(id, method, params)).await;
        let answer = answered.await.map_err(|_| Error::internal_error())?;
        drop(pending);
        rpc::params(answer?)
    }

    /// Takes the client's answer to a request. An answer to a withdrawn request is ignored.
    pub(super) fn answered(&self, id: &RequestId, result: RequestResult) {
        let RequestId::Number(id) = id else { return };
        if let Some(answer) = self.pending().remove(id) {
            let _ = answer.send(result);
        }
    }

    async fn send(&self, message: Value) {
        // If the client no longer reads, the session ends soon, so the error has no effect.
        let _ = self.0.out.send(message).await;
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, HashMap<i64, oneshot::Sender<RequestResult>>> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits for its answer until this is dropped.
struct PendingRequest<'a> {
    client: &'a Client,
    id: i64,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        self.client.pending().remove(&self.id);
    }
}
