//! Conversations on disk, so that a later chat can continue one.
//!
//! ```text
//! STATE/sessions/NAME-HASH/   the conversations of one workspace, as `headstart_agent::native::Sessions` stores them
//! ```
//!
//! NAME and HASH are those of the workspace, as for ledgers. No secret is stored there.

use std::ops::Deref;
use std::path::Path;

use async_trait::async_trait;
use headstart_agent::native::{self, ListedSession, SessionsError};
use headstart_agent::{Session, SessionStore, StoreError};
use headstart_providers::Scrubber;
use serde_json::Value;

use crate::error::CliError;
use crate::output::one_line;
use crate::store::create_private_folder;
use crate::workspace::state_name;

/// The sessions of one workspace.
#[derive(Debug, Clone)]
pub struct Sessions {
    store: native::Sessions,
    workspace: String,
}

impl Deref for Sessions {
    type Target = native::Sessions;

    fn deref(&self) -> &native::Sessions {
        &self.store
    }
}

impl Sessions {
    /// The sessions of a workspace. Touches no file.
    pub fn of(state: &Path, workspace: &str) -> Self {
        let folder = state.join("sessions").join(state_name(Path::new(workspace)));
        Self { store: native::Sessions::new(folder).about(workspace), workspace: workspace.to_owned() }
    }

    /// The sessions of all workspaces whose paths are known.
    pub fn everywhere(state: &Path) -> Result<Vec<Self>, CliError> {
        let all = state.join("sessions");
        let entries = match std::fs::read_dir(&all) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(CliError::io("read", &all)(error)),
        };
        let of_folder = |entry: std::fs::DirEntry| {
            let workspace = native::Sessions::workspace_of(&entry.path())?;
            // A folder that names another workspace than its own is ignored.
            Some(Self::of(state, &workspace)).filter(|sessions| sessions.folder() == entry.path())
        };
        Ok(entries.flatten().filter_map(of_folder).collect())
    }

    /// The workspace of these sessions.
    pub fn workspace(&self) -> &str {
        &self.workspace
    }

    /// Continues a session. No other process can do so until the returned value is dropped.
    pub(crate) fn resume(&self, id: &str, scrubber: Scrubber) -> Result<(Session, OpenSession), CliError> {
        let (session, open) = self.store.resume(id)?;
        Ok((session, OpenSession { open, scrubber, sessions: self.clone() }))
    }

    /// Gives a session another title.
    pub fn rename(&self, id: &str, title: &str) -> Result<(), CliError> {
        // A session that cannot be read is not written to.
        let (_, open) = self.resume(id, Scrubber::default())?;
        open.write(&Session::title_line(title))
    }

    /// A new session. Its file is created once there is something to write.
    pub fn begin(&self, id: &str, scrubber: Scrubber) -> OpenSession {
        OpenSession { open: self.store.begin(id), scrubber, sessions: self.clone() }
    }
}

impl From<SessionsError> for CliError {
    fn from(error: SessionsError) -> Self {
        match error {
            SessionsError::File { does, path, source } => Self::Io { action: does, path, source },
            SessionsError::Unreadable { path, source } => Self::Session { file: path, source },
            SessionsError::Open { id } => Self::SessionOpen { id },
            SessionsError::Unknown { id, folder } => Self::NoSession { id, folder },
            SessionsError::Ambiguous { id, candidates } => Self::AmbiguousId { prefix: id, candidates },
            other => Self::Sessions(other),
        }
    }
}

/// The time since a session was last written, in milliseconds.
pub fn age_ms(listed: &ListedSession) -> u64 {
    listed.modified.elapsed().map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
}

/// The title of a session on one line.
pub fn title_of(session: &Session) -> String {
    if session.title.is_empty() {
        return "(nothing said since /clear)".to_owned();
    }
    one_line(&session.title)
}

/// A session to which this process writes.
pub struct OpenSession {
    open: native::OpenSession,
    scrubber: Scrubber,
    sessions: Sessions,
}

impl OpenSession {
    fn write(&self, lines: &str) -> Result<(), CliError> {
        self.sessions.folder().parent().map_or(Ok(()), create_private_folder)?;
        let lines: String = lines.lines().map(|line| scrubbed(line, &self.scrubber)).collect();
        Ok(self.open.write(&lines)?)
    }
}

/// A line without secrets. Opaque parts for the model and images are not changed, because they contain no readable
/// secrets.
fn scrubbed(line: &str, scrubber: &Scrubber) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(line) else { return String::new() };
    let parts = value.pointer_mut("/message/parts").and_then(Value::as_array_mut).map(std::mem::take);
    let mut value = scrubber.value(&value);
    if let Some(parts) = parts {
        let is_whole = |part: &Value| part["type"] == "opaque" || part["type"] == "image";
        let parts = parts.into_iter().map(|part| if is_whole(&part) { part } else { scrubber.value(&part) });
        value["message"]["parts"] = parts.collect();
    }
    format!("{value}\n")
}

#[async_trait]
impl SessionStore for OpenSession {
    async fn append(&self, lines: String) -> Result<(), StoreError> {
        self.write(&lines)
            .map_err(|error| format!("this conversation is not kept from here on: {error}").into())
    }
}

#[cfg(test)]
mod tests;
