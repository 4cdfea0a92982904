//! The index of a workspace on this machine: where it is, how it follows the files, what past commits add to it.

mod history;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headstart_code_index::{IndexError, Store, StoreLimits, Updated, update};
use headstart_overlay_fs::{OsTree, WorkspacePath};
use headstart_tool_gate::GateContext;

use crate::config::IndexConfig;
use crate::error::CliError;
use crate::output;

/// The index of one workspace.
pub(crate) struct Index {
    pub(crate) store: Store,
    workspace: PathBuf,
    tree: OsTree,
    gate: GateContext,
    config: IndexConfig,
}

impl Index {
    /// Opens it, or begins an empty one; tells where an old one could not be used.
    pub(crate) fn open(
        state: &Path,
        workspace: &str,
        gate: GateContext,
        config: IndexConfig,
    ) -> Result<Self, CliError> {
        let limits = StoreLimits { bytes: config.max_bytes, ..StoreLimits::default() };
        let opened = Store::open(&place(state, workspace), limits)?;
        if let Some(told) = opened.told {
            output::note(&told);
        }
        let workspace = PathBuf::from(workspace);
        let tree = OsTree::open(&workspace)
            .map_err(|error| CliError::Workspace { path: workspace.clone(), message: error.to_string() })?;
        Ok(Self { store: opened.store, workspace, tree, gate, config })
    }

    /// Brings it to what the files are, for so long at most. A full disk, or a limit, is told and is no error: what is there answers.
    pub(crate) async fn follow(&self, most: Option<Duration>) -> Result<Updated, CliError> {
        if self.config.history {
            self.follow_history()?;
        }
        let start = Instant::now();
        let closes = |path: &WorkspacePath| self.gate.denies(path);
        let mut keep_going = |_| match most {
            Some(most) if most < start.elapsed() => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        match update(&self.store, &self.tree, &closes, &mut keep_going).await {
            Err(error) if error.is_full() => {
                output::note(&format!("the index is full: {error}"));
                Ok(Updated::default())
            }
            done => Ok(done?),
        }
    }

    /// The files of the last commits, the newest first, and how much each counts.
    pub(crate) fn recent(&self) -> Result<Vec<(WorkspacePath, f32)>, IndexError> {
        Ok(history::read_recent(&self.store.note("recent")?.unwrap_or_default()))
    }

    fn follow_history(&self) -> Result<(), IndexError> {
        let Some(head) = history::head(&self.workspace) else { return Ok(()) };
        if self.store.note("head")?.as_ref() == Some(&head) {
            return Ok(());
        }
        // Where git answers nothing in time, the field stays as it was.
        let Some(commits) = history::log(&self.workspace) else { return Ok(()) };
        let subjects = history::subjects(&commits);
        self.store.set_history(subjects.iter().map(|(path, text)| (path, text.as_str())))?;
        self.store.set_note("recent", &history::recent(&commits))?;
        self.store.set_note("head", &head)
    }
}

/// `STATE/index/NAME-HASH.sqlite`: the name for people, the hash of the whole path for the machine.
fn place(state: &Path, workspace: &str) -> PathBuf {
    let name = Path::new(workspace).file_name().unwrap_or_default().to_string_lossy();
    let plain = |sign: char| if sign.is_ascii_alphanumeric() || "-_".contains(sign) { sign } else { '_' };
    let name: String = name.chars().take(40).map(plain).collect();
    let hash = xxhash_rust::xxh3::xxh3_64(workspace.as_bytes());
    state.join("index").join(format!("{name}-{hash:016x}.sqlite"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_workspaces_of_one_name_have_two_indexes() {
        let state = Path::new("/state");
        let one = place(state, "/home/ada/project");
        assert_ne!(one, place(state, "/home/bob/project"));
        assert_eq!(one, place(state, "/home/ada/project"));
        assert!(one.starts_with("/state/index"));
        assert!(one.file_name().unwrap().to_str().unwrap().starts_with("project-"));
        let odd = place(state, "/home/ada/über project\n");
        assert!(odd.to_str().unwrap().is_ascii());
    }
}
