//! Stands in for views on systems without Linux's namespaces: hosts compile against it, and nothing in it can be
//! started.

use std::ffi::{OsStr, OsString};
#[cfg(not(windows))]
use std::os::fd::BorrowedFd as Root;
#[cfg(windows)]
use std::os::windows::io::BorrowedHandle as Root;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use headstart_overlay_fs::{ChangeSet, Tree};
use headstart_workspace_path::WorkspacePath;

use crate::confinement::CONFINED;
use crate::host_pipe::HostPipe;
use crate::{
    Command, End, Options, Output, Program, ReadBack, ReadRules, Refusal, Refused, Running, ShadowError,
    Stream, Support,
};

/// A view, of which there is none on this system.
#[derive(Debug)]
pub enum View {}

/// The processes of a view, of which there is none on this system.
#[derive(Debug)]
pub enum Prepared {}

/// What ends a view, of which there is none on this system.
#[derive(Debug)]
pub enum KillHandle {}

fn why() -> ShadowError {
    let message = "only Linux has the namespaces and the overlay that it is made of".to_owned();
    ShadowError::Refused(Refusal { call: "view".to_owned(), about: String::new(), message })
}

/// No process of this program is one of a view.
pub fn entry(_arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    None
}

/// Reports that a command cannot be confined, and does not run it, if the arguments are those of one.
pub fn confined_entry<C: Fn(&Path, &WorkspacePath) -> bool>(
    arguments: impl IntoIterator<Item = OsString>,
    _closes: impl FnOnce(&Confinement) -> Result<C, String>,
) -> Option<ExitCode> {
    if arguments.into_iter().nth(1)? != CONFINED {
        return None;
    }
    Some(HostPipe::of_process().refuse("only Linux can, with Landlock"))
}

/// Does nothing: no view can start too early where there are none.
pub fn wait_for_later_times() {}

/// Always `false`.
pub fn can_confine() -> bool {
    false
}

/// None, because no command is confined.
pub fn open_folder_around(_workspace: &Path, _search_path: &OsStr) -> Option<PathBuf> {
    None
}

/// None, because no view could keep build output.
pub fn build_folders(_workspace: &Path, _more: &[WorkspacePath]) -> Vec<WorkspacePath> {
    Vec::new()
}

/// Removes a folder and all that is in it.
#[expect(clippy::disallowed_methods, reason = "what an earlier version kept for views lies on a disk")]
pub fn remove_folder(path: &Path) -> std::io::Result<()> {
    std::fs::remove_dir_all(path)
}

/// Reports that there are no views.
pub fn support(_options: &Options) -> Support {
    Support::None { why: why().to_string() }
}

impl Prepared {
    /// Always an error.
    pub fn new(_program: &Path) -> Result<Self, ShadowError> {
        Err(why())
    }

    /// The process ID of its first process.
    pub fn process(&self) -> u32 {
        match *self {}
    }
}

impl KillHandle {
    /// Ends the view.
    pub fn kill(&self) {
        match *self {}
    }
}

impl View {
    /// Always an error.
    pub fn start(_options: &Options) -> Result<Self, ShadowError> {
        Err(why())
    }

    /// Always an error.
    pub fn start_with(_options: &Options, _prepared: Option<Prepared>) -> Result<Self, ShadowError> {
        Err(why())
    }

    /// How the view's workspace is kept apart from the one on disk.
    pub fn tier(&self) -> crate::Tier {
        match *self {}
    }

    /// Where the workspace is.
    pub fn workspace(&self) -> &Path {
        match *self {}
    }

    /// The process ID of its first process.
    pub fn process(&self) -> u32 {
        match *self {}
    }

    /// The root of the workspace as commands see it.
    pub fn root(&self) -> Root<'_> {
        match *self {}
    }

    /// Whether build output is kept on a disk.
    pub fn is_on_disk(&self) -> bool {
        match *self {}
    }

    /// Whether the view has ended.
    pub fn has_ended(&self) -> bool {
        match *self {}
    }

    /// A handle that ends this view from elsewhere.
    pub fn kill_handle(&self) -> Result<KillHandle, ShadowError> {
        match *self {}
    }

    /// Ends the view.
    pub fn end(self) {
        match self {}
    }

    /// Writes what is staged into the view.
    pub fn show(&mut self, _staged: &ChangeSet) -> Result<(), ShadowError> {
        match *self {}
    }

    /// Writes what the steps below staged into the view.
    pub fn show_below(&mut self, _below: &ChangeSet) -> Result<(), ShadowError> {
        match *self {}
    }

    /// Gives paths a later modification time.
    pub fn renew(&mut self, _built: i64, _changed: &[WorkspacePath]) -> Result<(), ShadowError> {
        match *self {}
    }

    /// Hides paths from the view.
    pub fn hide(&mut self, _paths: &[WorkspacePath]) -> Result<(), ShadowError> {
        match *self {}
    }

    /// Runs a command.
    pub fn run(&mut self, _command: &Command) -> Result<Output, ShadowError> {
        match *self {}
    }

    /// Runs a command, with its output as it comes.
    pub fn run_into(
        &mut self,
        _command: &Command,
        _sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<(End, Refused), ShadowError> {
        match *self {}
    }

    /// Starts a program with pipes.
    pub fn start_program(&mut self, _command: &Command) -> Result<Program, ShadowError> {
        match *self {}
    }

    /// Ends the program.
    pub fn stop_program(&mut self) -> Result<(), ShadowError> {
        match *self {}
    }

    /// What runs in the view.
    pub fn running(&mut self) -> Result<Running, ShadowError> {
        match *self {}
    }

    /// What the view holds that the tree below does not.
    pub fn read_back(&mut self, _base: &dyn Tree, _rules: &ReadRules) -> Result<ReadBack, ShadowError> {
        match *self {}
    }

    /// Bytes and files that were written in the view.
    pub fn usage(&self) -> Result<(u64, u64), ShadowError> {
        match *self {}
    }
}
