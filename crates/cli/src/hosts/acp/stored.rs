//! The sessions on disk, which clients list, delete and fork.

use std::path::Path;

use headstart_budget::ledger::Day;

use agent_client_protocol_schema::v1::{Error, ListSessionsResponse, SessionInfo};
use headstart_machine::conversation::conversation_id;
use headstart_machine::sessions::{Sessions, title_of};

use super::opening::{folder, refused};
use super::rpc;

/// The sessions of a folder, or those of all known folders. The one that was written last comes first.
pub(super) fn list(state: &Path, cwd: Option<&Path>) -> Result<ListSessionsResponse, Error> {
    let all = match cwd {
        Some(cwd) => vec![Sessions::of(state, &folder(cwd)?)],
        None => Sessions::everywhere(state).map_err(|error| refused(&error))?,
    };
    let mut found = Vec::new();
    for sessions in all {
        for listed in sessions.list().map_err(|error| refused(&error.into()))? {
            // A session that cannot be read cannot be continued.
            let Ok(session) = &listed.session else { continue };
            let written = listed.modified_ms();
            let info = SessionInfo::new(listed.id.clone(), sessions.workspace())
                .title(title_of(session))
                .updated_at(rfc3339(written));
            found.push((written, info));
        }
    }
    found.sort_by_key(|(written, _)| std::cmp::Reverse(*written));
    Ok(ListSessionsResponse::new(found.into_iter().map(|(_, info)| info).collect()))
}

/// Checks that a session belongs to this folder.
pub(super) fn check_workspace(state: &Path, workspace: &Path, id: &str) -> Result<(), Error> {
    let workspace = workspace.to_string_lossy();
    if Sessions::of(state, &workspace).has(id) {
        return Ok(());
    }
    Err(unknown(id, &format!(" in {workspace}")))
}

/// Removes a session, whichever folder it belongs to.
pub(super) fn delete(state: &Path, id: &str) -> Result<(), Error> {
    let sessions = find(state, id)?;
    sessions.remove(id).map_err(|error| refused(&error.into()))
}

/// Copies a session, whichever folder it belongs to, and returns the id of the copy.
pub(super) fn fork(state: &Path, id: &str) -> Result<String, Error> {
    let sessions = find(state, id)?;
    let fork = conversation_id();
    sessions.fork(id, &fork).map_err(|error| refused(&error.into()))?;
    Ok(fork)
}

fn find(state: &Path, id: &str) -> Result<Sessions, Error> {
    let all = Sessions::everywhere(state).map_err(|error| refused(&error))?;
    all.into_iter().find(|sessions| sessions.has(id)).ok_or_else(|| unknown(id, ""))
}

fn unknown(id: &str, place: &str) -> Error {
    rpc::wrong("params.sessionId", &format!("no session {id:?} is kept{place}"))
}

/// Milliseconds since the Unix epoch as a date and time in UTC.
fn rfc3339(ms: u64) -> String {
    let seconds = ms / 1_000 % 86_400;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{}T{hours:02}:{minutes:02}:{seconds:02}Z", Day::of(ms))
}
