//! A question on its way to a server.

use futures::channel::oneshot;
use headstart_workspace_path::WorkspacePath;

use crate::servers::results::{Action, Locations, SymbolPosition, Symbols};
use crate::{Delta, EditPlan, IntelError, Severity, Snapshot};

/// Identifies a server: the index of its adapter, and the root of its project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ServerKey {
    pub(crate) adapter: usize,
    pub(crate) folder: WorkspacePath,
}

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Diagnostics {
        paths: Vec<WorkspacePath>,
        least: Severity,
    },
    Definition(SymbolPosition),
    References(SymbolPosition),
    Hover(SymbolPosition),
    SymbolsOf(WorkspacePath),
    SymbolsLike(String),
    Rename {
        place: SymbolPosition,
        to: String,
    },
    Actions {
        place: SymbolPosition,
        kind: Option<String>,
    },
    Apply {
        place: SymbolPosition,
        kind: Option<String>,
        title: String,
    },
    /// Start, and check the unchanged state of these files.
    Warm(Vec<WorkspacePath>),
    /// Files changed on the user's disk.
    Changed(Vec<WorkspacePath>),
    /// End the server, to make room for another one.
    End,
}

impl Request {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Diagnostics { .. } => "diagnostics",
            Self::Definition(_) => "definition",
            Self::References(_) => "references",
            Self::Hover(_) => "hover",
            Self::SymbolsOf(_) | Self::SymbolsLike(_) => "symbols",
            Self::Rename { .. } => "rename",
            Self::Actions { .. } | Self::Apply { .. } => "code actions",
            Self::Warm(_) | Self::Changed(_) | Self::End => "housekeeping",
        }
    }
}

/// What it is answered with.
#[derive(Debug)]
pub(crate) enum Response {
    Delta(Delta),
    Locations(Locations),
    Text(Option<String>),
    Symbols(Symbols),
    Plan(EditPlan),
    Actions(Vec<Action>),
    Done,
}

/// A question, the state it is about, and where to send the answer.
pub(crate) struct Job {
    pub(crate) key: ServerKey,
    pub(crate) snapshot: Snapshot,
    pub(crate) question: Request,
    pub(crate) answer: oneshot::Sender<Result<Response, IntelError>>,
}
