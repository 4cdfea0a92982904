//! What a host has to know of a command that the shell of another program would run.

use headstart_workspace_path::WorkspacePath;

use crate::Verdict;

/// The verdict on a command that the shell of another program would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElsewhereVerdict {
    /// The verdict on the call.
    pub verdict: Verdict,
    /// The names of the programs that the command names, each once, in order; some may be built into the shell. The
    /// host has to check that the other shell's search path finds the program that the gate means.
    pub programs: Vec<String>,
    /// Whether the command may change the folder of its shell (`cd src && ls`). If it runs in a shell of its own
    /// instead, the original shell stays where it was, and a later command of the same conversation runs in another
    /// folder than its author meant.
    pub leaves_folder: bool,
    /// What the command reads, in the order in which it was found. Where nothing confines the command, the host has
    /// to look on disk for links that lead elsewhere and for closed files among what these cover.
    pub reads: Vec<CommandRead>,
    /// The variables whose values the command uses, each once, in order, without those that hold no secret in any
    /// environment (`HOME`, `PWD`).
    pub variables: Vec<UsedVariable>,
}

/// A path that a command reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRead {
    /// A path, or the folder below which the names are.
    pub path: WorkspacePath,
    /// How much is read of the path, or of each of the names.
    pub extent: Extent,
    /// Whether `path` is itself what is read.
    pub names: ReadNames,
}

/// Which paths a [`CommandRead`] is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadNames {
    /// The path.
    Path,
    /// The names below it that this pattern of bash matches. It holds slashes, `*`, `?` and brackets, and no quotes.
    Matching(String),
    /// Names below it, at any depth, that are not known before the command runs.
    Unknown,
}

/// How much of a path is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// This file.
    File,
    /// Everything below this folder, or files in it whose names are not known.
    Below,
    /// Only the names of what is below this folder.
    Names,
}

/// A variable whose value a command uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedVariable {
    /// Its name.
    pub name: String,
    /// Whether the command has certainly given it its value, so that it does not have that of the environment.
    pub is_assigned: bool,
}

impl From<Verdict> for ElsewhereVerdict {
    /// A judgement of a call whose command was not read.
    fn from(verdict: Verdict) -> Self {
        Self { verdict, programs: Vec::new(), leaves_folder: false, reads: Vec::new(), variables: Vec::new() }
    }
}
