//! Stores for the next start which of the agent's conversations stands for which of the editor's, and which forks the
//! user must not see.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

use headstart_machine::{output, store};
use headstart_overlay_fs::{ContentHash, Process};
use serde::{Deserialize, Serialize};

use super::message::SessionNames;

/// The folder in the state folder for the proxy's files.
pub(super) const FOLDER: &str = "acp-proxy";

/// The stored data for one agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ProxyState {
    /// The editor's id of a session, and the fork that continues it.
    pub(super) names: SessionNames,
    /// Forks that were made and not taken, and those that another fork replaced. The agent is asked to delete them.
    pub(super) forks: BTreeSet<String>,
    /// The process of ours that made a fork and may still take it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) makers: BTreeMap<String, Process>,
    /// Forks whose changes are about to be committed. They are noted before the commit, because the process may die
    /// before it can note the result.
    #[serde(rename = "taking", skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) pending_accepts: BTreeMap<String, PendingAccept>,
}

/// The session that a fork is about to be taken for, and its changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PendingAccept {
    pub(super) session: String,
    pub(super) folder: String,
    pub(super) changes: ContentHash,
    pub(super) by: Process,
}

/// A change of the stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StateChange {
    ForkMade(String, Process),
    /// The fork's changes are about to be committed.
    AcceptBegun(String, PendingAccept),
    /// The fork's changes were not committed.
    AcceptFailed(String),
    /// The agent has deleted the fork.
    ForkDeleted(String),
    ForkAccepted {
        session: String,
        fork: String,
    },
    /// The session stands for itself again, because its fork does not exist any more or the session was deleted.
    SessionFreed(String),
}

impl ProxyState {
    pub(super) fn apply(&mut self, change: &StateChange) {
        match change {
            StateChange::ForkMade(fork, by) => {
                self.forks.insert(fork.clone());
                self.makers.insert(fork.clone(), by.clone());
            }
            StateChange::AcceptBegun(fork, taking) => {
                drop(self.pending_accepts.insert(fork.clone(), taking.clone()));
            }
            StateChange::AcceptFailed(fork) => drop(self.pending_accepts.remove(fork)),
            StateChange::ForkDeleted(fork) => {
                self.forks.remove(fork);
                self.makers.remove(fork);
                self.pending_accepts.remove(fork);
            }
            StateChange::ForkAccepted { session, fork } => {
                self.forks.remove(fork);
                self.makers.remove(fork);
                self.pending_accepts.remove(fork);
                self.forks.extend(self.names.insert(session.clone(), fork.clone()));
            }
            StateChange::SessionFreed(session) => drop(self.names.remove(session)),
        }
    }

    /// The editor's ids for the agent's sessions.
    pub(super) fn editors_names(&self) -> SessionNames {
        self.names.iter().map(|(session, fork)| (fork.clone(), session.clone())).collect()
    }

    /// The forks that nobody can take any more, because the processes that made them have ended.
    pub(super) fn orphaned_forks(&self) -> Vec<String> {
        let may_be_taken = |fork: &String| {
            self.pending_accepts.contains_key(fork) || self.makers.get(fork).is_some_and(Process::is_alive)
        };
        self.forks.iter().filter(|fork| !may_be_taken(fork)).cloned().collect()
    }

    /// Whether this session of the agent's must not be shown to the user.
    pub(super) fn hides(&self, session: &str) -> bool {
        self.forks.contains(session) || self.names.contains_key(session)
    }
}

/// The file with the stored data. Several processes may change it.
#[derive(Debug, Clone)]
pub(super) struct StateFile(Option<PathBuf>);

impl StateFile {
    /// The file for an agent. Without a state folder nothing is stored.
    pub(super) fn of(state: Option<&Path>, agent: &str) -> Self {
        Self(state.map(|state| state.join(FOLDER).join(format!("{agent}.json"))))
    }

    /// The stored data; empty if there is no file yet.
    pub(super) fn read(&self) -> Result<ProxyState, String> {
        let Some(path) = &self.0 else { return Ok(ProxyState::default()) };
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(&error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ProxyState::default()),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Finds out what became of forks that a process was about to take when it ended: a fork was taken if its changes
    /// were committed.
    pub(super) fn settle(
        &self,
        state: &mut ProxyState,
        is_committed: impl Fn(&PendingAccept) -> Result<bool, String>,
    ) -> Result<(), String> {
        for (fork, taking) in state.pending_accepts.clone() {
            if taking.by.is_alive() {
                continue;
            }
            let change = if is_committed(&taking)? {
                StateChange::ForkAccepted { session: taking.session, fork }
            } else {
                StateChange::AcceptFailed(fork)
            };
            self.change(&change)?;
            state.apply(&change);
        }
        Ok(())
    }

    pub(super) fn change(&self, change: &StateChange) -> Result<(), String> {
        let Some(path) = &self.0 else { return Ok(()) };
        let folder = path.parent().expect("works because it is in a folder of the state folder");
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        store::create_private_folder(folder).map_err(|error| failed(&error))?;
        let lock = File::options().create(true).write(true).truncate(false).open(folder.join("lock"));
        let lock = lock.map_err(|error| failed(&error))?;
        lock.lock().map_err(|error| failed(&error))?;
        let mut state = self.read()?;
        state.apply(change);
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
        let bytes = serde_json::to_vec(&state).map_err(|error| failed(&error))?;
        file.write_all(&bytes).map_err(|error| failed(&error))?;
        file.persist(path).map(drop).map_err(|error| failed(&error))
    }
}

/// Writes changes in order, in a thread of its own, because a disk may take seconds and messages must not wait for it.
pub(super) struct StateWriter {
    changes: Option<mpsc::Sender<(StateChange, mpsc::Sender<()>)>>,
    thread: Option<JoinHandle<()>>,
}

impl StateWriter {
    pub(super) fn start(file: StateFile) -> Self {
        let is_lost = |error: &dyn std::fmt::Display| {
            output::note(&format!("headstart: which fork stands for a session is not kept: {error}"));
        };
        let (changes, received) = mpsc::channel::<(StateChange, mpsc::Sender<()>)>();
        let thread = std::thread::Builder::new().name("kept".to_owned()).spawn(move || {
            for (change, written) in received {
                if let Err(error) = file.change(&change) {
                    is_lost(&error);
                }
                drop(written);
            }
        });
        Self { changes: Some(changes), thread: thread.map_err(|error| is_lost(&error)).ok() }
    }

    /// Returns at once. The sender of the returned channel is dropped when the change has been written, or could not
    /// be.
    pub(super) fn write(&self, change: StateChange) -> mpsc::Receiver<()> {
        let (written, is_written) = mpsc::channel();
        if let Some(changes) = &self.changes {
            // If the thread could not be started, that was reported.
            let _ = changes.send((change, written));
        }
        is_written
    }
}

impl Drop for StateWriter {
    /// Waits until everything is written.
    fn drop(&mut self) {
        drop(self.changes.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_stands_for_its_session_until_another_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::of(Some(folder.path()), "x");
        let taken = |fork: &str| StateChange::ForkAccepted { session: "S".into(), fork: fork.into() };
        let made = |fork: &str| StateChange::ForkMade(fork.into(), Process::current());
        for change in [made("F1"), made("Q"), taken("F1"), made("F2"), taken("F2")] {
            file.change(&change).unwrap();
        }
        let state = file.read().unwrap();
        assert_eq!(state.names, SessionNames::from([("S".to_owned(), "F2".to_owned())]));
        assert_eq!(state.forks, BTreeSet::from(["F1".to_owned(), "Q".to_owned()]));
        assert_eq!(state.orphaned_forks(), ["F1"], "who made Q may take it yet");
        assert!(
            state.hides("S")
                && state.hides("F1")
                && state.hides("Q")
                && !state.hides("F2")
                && !state.hides("T")
        );
        for change in [
            StateChange::ForkDeleted("Q".into()),
            StateChange::ForkDeleted("F1".into()),
            StateChange::SessionFreed("S".into()),
        ] {
            file.change(&change).unwrap();
        }
        assert_eq!(file.read().unwrap(), ProxyState::default());
        fs::write(folder.path().join("acp-proxy/x.json"), "{").unwrap();
        assert!(file.change(&made("F")).unwrap_err().contains("x.json"));
        assert_eq!(
            fs::read(folder.path().join("acp-proxy/x.json")).unwrap(),
            b"{",
            "what is damaged stays as it is"
        );
    }
}
