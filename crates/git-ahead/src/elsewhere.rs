//! Stands in for repositories on Windows, where no command runs ahead: hosts compile against it, and no value of it
//! exists.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::windows::io::AsHandle;
use std::path::Path;

use headstart_overlay_fs::{
    ContentHash, Direction, Finish, NotPrepared, Participant, Prepared, TreeError, WorkspacePath,
};

use crate::{GitChange, GitError, KeptFile, ObjectName, Offer, RefName, Setting, Unstaged};

/// The system's git, which is not started on this system.
#[derive(Debug, Clone)]
pub enum Git {}

/// What reads a view's repository, of which there is none on this system.
#[derive(Debug)]
pub struct Reader(Git);

/// The state of a repository, which is not taken on this system.
#[derive(Debug)]
pub enum Snapshot {}

/// A repository as a participant in commits, which none is on this system.
#[derive(Debug, Clone)]
pub struct Repository(Git);

/// The repository around a workspace, which is not asked on this system.
#[derive(Debug, Clone)]
pub struct Surroundings(Git);

fn why() -> GitError {
    GitError::Unsupported { reason: "this system has no views".to_owned() }
}

impl Git {
    /// Always an error.
    pub fn find(_path: &OsStr) -> Result<Self, GitError> {
        Err(why())
    }

    /// Its version, major and minor.
    pub fn version(&self) -> (u32, u32) {
        match *self {}
    }

    /// All settings that apply in a work tree.
    pub fn settings(
        &self,
        _work_tree: &Path,
        _users: &[(OsString, OsString)],
    ) -> Result<Vec<Setting>, GitError> {
        match *self {}
    }
}

impl Reader {
    /// Reads the repositories of views of this workspace.
    pub fn new(git: Git, _workspace: &Path, _home: &Path) -> Self {
        Self(git)
    }

    /// What changed in the view.
    pub fn read(
        &self,
        _before: Option<&Snapshot>,
        _view: impl AsHandle,
        _state: &Path,
        _pack: &str,
    ) -> Result<Option<GitChange>, GitError> {
        match self.0 {}
    }

    /// Makes a change in the view's repository.
    pub fn apply_to_view(
        &self,
        _view: impl AsHandle,
        _state: &Path,
        _change: &GitChange,
    ) -> Result<(), GitError> {
        match self.0 {}
    }

    /// The state of the view's repository.
    pub fn snapshot(&self, _view: impl AsHandle) -> Result<Option<Snapshot>, GitError> {
        match self.0 {}
    }
}

impl Snapshot {
    /// Always an error.
    pub fn take(_workspace: impl AsHandle, _home: &Path) -> Result<Option<Self>, GitError> {
        Err(why())
    }

    /// Always an error.
    pub fn changed_since(_workspace: impl AsHandle, _since: i64) -> Result<bool, GitError> {
        Err(why())
    }
}

impl Repository {
    /// The repository of a workspace.
    pub fn new(git: Git, _workspace: &Path, _state: &Path) -> Self {
        Self(git)
    }

    /// What can be done with the commits of a change.
    pub fn offer(&self, _change: &GitChange, _id: &str) -> Result<Option<Offer>, GitError> {
        match self.0 {}
    }

    /// Stores the commits of a change under a ref of their own.
    pub fn keep(&self, _change: &GitChange, _id: &str) -> Result<Option<RefName>, GitError> {
        match self.0 {}
    }
}

impl Surroundings {
    /// Always none.
    pub fn find(_git: Git, _workspace: &Path) -> Result<Option<Self>, GitError> {
        Ok(None)
    }

    /// The last commit that changed what work wrote and was made after it.
    pub fn committed_since(
        &self,
        _written: &BTreeMap<WorkspacePath, Vec<ContentHash>>,
        _seconds: u64,
        _except: &[ObjectName],
    ) -> Result<Option<String>, GitError> {
        match self.0 {}
    }

    /// Whether a path is in a commit, a stash or the index.
    pub fn keeps(&self, _is_meant: impl Fn(&[u8]) -> bool) -> Result<bool, GitError> {
        match self.0 {}
    }

    /// What the index and the last commits hold of files.
    pub fn contents(
        &self,
        _is_meant: impl Fn(&[u8]) -> bool,
        _is_meant_content: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<KeptFile>, GitError> {
        match self.0 {}
    }

    /// The paths of files in the last commit that hold a text.
    pub fn holding(&self, _text: &[u8]) -> Result<Vec<Vec<u8>>, GitError> {
        match self.0 {}
    }

    /// Always none.
    pub fn stamp(_workspace: &Path) -> Option<Vec<u8>> {
        None
    }

    /// Whether the repository begins in this folder.
    pub fn begins_in(&self, _top: &Path) -> bool {
        match self.0 {}
    }

    /// Takes back what was staged for git of work whose files were taken back.
    pub fn unstage(
        &self,
        _written: &BTreeMap<WorkspacePath, Vec<ContentHash>>,
    ) -> Result<Vec<Unstaged>, GitError> {
        match self.0 {}
    }
}

impl Participant for Repository {
    fn prepare(&self, _change: &str, _direction: Direction) -> Result<Box<dyn Prepared>, NotPrepared> {
        match self.0 {}
    }

    fn finish(&self, _note: &str, _direction: Direction) -> Result<Finish, TreeError> {
        match self.0 {}
    }

    fn release(&self, _note: &str) -> Result<(), TreeError> {
        match self.0 {}
    }
}
