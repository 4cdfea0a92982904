use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool call as the gate sees it.
#[derive(Debug, Clone, Copy)]
pub struct CallRef<'a> {
    /// The tool's name, as the model wrote it.
    pub name: &'a str,
    /// The arguments, as the model wrote them.
    pub args: &'a Map<String, Value>,
}

/// How much the user lets an agent do without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Reads run; every write asks.
    #[default]
    Default,
    /// Reads run; nothing is written.
    Plan,
    /// Edits of files run too.
    AutoEdit,
    /// The user's own turns ask nothing; a speculation treats it as `AutoEdit`.
    Yolo,
}

/// Paths that must not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DenyRule(pub String);

/// What a verdict depends on besides the call.
#[derive(Debug, Clone, Default)]
pub struct GateContext {
    /// The approval mode in force now.
    pub mode: ApprovalMode,
    /// The workspace root: an absolute path.
    pub workspace: String,
    /// Glob patterns (as in `.gitignore`) of paths that no tool may touch.
    pub deny: Vec<DenyRule>,
}

/// What becomes of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    /// It runs: it only reads.
    Allow,
    /// It runs over the overlay: its writes are staged.
    Redirect,
    /// It does not run: the speculation stops here.
    Boundary,
}

/// Why; a code for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Nothing but reading.
    ReadOnly,
}

/// One thing that a command would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// Of which kind.
    pub kind: EffectKind,
    /// In a sentence.
    pub detail: String,
}

/// The kinds of effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EffectKind {
    /// Reads, prints.
    ReadOnly,
    /// Writes below the workspace.
    WritesWorkspace,
    /// Writes elsewhere.
    WritesOutside,
    /// Opens a connection.
    Network,
    /// Runs a program that the command, its arguments or the repository chose.
    Executes,
    /// Reads outside the workspace.
    ReadsOutside,
    /// Discloses or depends on the environment.
    Environment,
    /// May never end.
    NonTerminating,
    /// Not understood.
    Unknown,
}

/// What the gate says of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// What becomes of the call.
    pub decision: Decision,
    /// Why, for programs.
    pub reason: Reason,
    /// Why, for people.
    pub detail: String,
    /// What the call would do.
    pub effects: Vec<Effect>,
    /// Workspace-relative paths that are read, where they are known (`.` is the whole workspace).
    pub reads: Vec<String>,
    /// Workspace-relative paths that are written, where they are known.
    pub writes: Vec<String>,
}

/// Judges calls; keeps the parser between them.
pub struct Gate {}

impl Gate {
    /// A gate.
    #[expect(clippy::new_without_default, reason = "skeleton")]
    pub fn new() -> Self {
        Self {}
    }

    /// The verdict on one call. Never runs, reads or writes anything.
    pub fn judge(&self, _call: CallRef<'_>, _context: &GateContext) -> Verdict {
        todo!()
    }
}
