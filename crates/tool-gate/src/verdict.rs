use std::collections::BTreeMap;
use std::sync::Arc;

use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

/// What becomes of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    /// It runs: it only reads.
    Allow,
    /// It runs over the overlay: its writes are staged.
    Redirect,
    /// It runs in a copy-on-write view of the workspace, and what it wrote there is staged. Only
    /// [`Gate::judge_ahead`](crate::Gate::judge_ahead) says so, and only where
    /// [`GateContext::views`](crate::GateContext::views) does.
    Shadow,
    /// It does not run: the speculation stops here.
    Boundary,
}

impl Decision {
    /// Its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Redirect => "redirect",
            Self::Shadow => "shadow",
            Self::Boundary => "boundary",
        }
    }
}

/// Why; a code for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Nothing but reading.
    ReadOnly,
    /// A write that the overlay stages.
    StagedWrite,
    /// A write of work that runs ahead: the overlay stages it, and the user is asked before any of it is applied.
    StagedAsksFirst,
    /// An argument is missing or of the wrong type. A read or write tool is let run, because it finds no path
    /// either and answers with an error that the model can act on; a shell call is a boundary.
    InvalidArgument,
    /// Several arguments name the path, and they could differ.
    AmbiguousPath,
    /// The approval mode asks before a write.
    WriteToolNoAuto,
    /// A path outside the workspace.
    OutsideWorkspace,
    /// A path that a deny rule matches.
    DeniedPath,
    /// A file that holds a secret by its name ([`SECRET_FILES`](crate::SECRET_FILES)): the user is asked, and nothing ahead touches it.
    SecretPath,
    /// A write below `.git`, where configuration and hooks name programs that run later.
    ProtectedPath,
    /// A tool that the user excludes.
    #[cfg(feature = "tool-policies")]
    ExcludedTool,
    /// A tool of a server, of which nothing is known but what the server says.
    #[cfg(feature = "tool-servers")]
    ServerTool,
    /// A tool that nobody declared to the gate.
    #[serde(alias = "denied_tool")]
    UnknownTool,
    /// A command that writes.
    Writes,
    /// A command that opens a connection.
    Network,
    /// A command that runs a program chosen by its arguments or by the repository.
    Executes,
    /// A command that reads outside the workspace, or where that cannot be excluded.
    ReadsOutside,
    /// A command that discloses the environment, or changes it for what follows.
    Environment,
    /// A command that may read what is staged, and would see the real file instead. The engine says this.
    ReadsStaged,
    /// A command that a view cannot give what it needs: the network, more rights, a service of the host. The gate says this of a
    /// program that is known for it, the engine of one that asked for it.
    NeedsHost,
    /// A command that wrote outside the workspace, where a view keeps nothing. The engine says this.
    WritesOutside,
    /// A command under which its user changed what it wrote, so that its result rests on nothing. The engine says this.
    ChangedMeanwhile,
    /// A command at which a policy of the user or the project stops.
    Policy,
    /// A command that may never end.
    NonTerminating,
    /// A command that the gate does not understand.
    NotUnderstood,
    /// A command that is too long, too deep or has too many parts to judge.
    Limit,
}

impl Reason {
    /// Its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::StagedWrite => "staged_write",
            Self::StagedAsksFirst => "staged_asks_first",
            Self::InvalidArgument => "invalid_argument",
            Self::AmbiguousPath => "ambiguous_path",
            Self::WriteToolNoAuto => "write_tool_no_auto",
            Self::OutsideWorkspace => "outside_workspace",
            Self::DeniedPath => "denied_path",
            Self::SecretPath => "secret_path",
            Self::ProtectedPath => "protected_path",
            #[cfg(feature = "tool-policies")]
            Self::ExcludedTool => "excluded_tool",
            #[cfg(feature = "tool-servers")]
            Self::ServerTool => "server_tool",
            Self::UnknownTool => "unknown_tool",
            Self::Writes => "writes",
            Self::Network => "network",
            Self::Executes => "executes",
            Self::ReadsOutside => "reads_outside",
            Self::Environment => "environment",
            Self::ReadsStaged => "reads_staged",
            Self::NeedsHost => "needs_host",
            Self::WritesOutside => "writes_outside",
            Self::ChangedMeanwhile => "changed_meanwhile",
            Self::Policy => "policy",
            Self::NonTerminating => "non_terminating",
            Self::NotUnderstood => "not_understood",
            Self::Limit => "limit",
        }
    }
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

impl EffectKind {
    /// Its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnly",
            Self::WritesWorkspace => "writesWorkspace",
            Self::WritesOutside => "writesOutside",
            Self::Network => "network",
            Self::Executes => "executes",
            Self::ReadsOutside => "readsOutside",
            Self::Environment => "environment",
            Self::NonTerminating => "nonTerminating",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that a call would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// Of which kind.
    pub kind: EffectKind,
    /// In a sentence.
    pub detail: String,
    /// Where in a shell command: byte offsets, the end not included, at the borders of characters. Every effect that comes
    /// from the command's text has one; those of an allowed command stand in the order of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
}

/// The form in which an allowed command must run, where the plain form could do more than read.
///
/// Over the executor's [clean environment](crate::clean_environment).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hardened {
    /// Variables that must be set; the many of git are one map, shared by all verdicts.
    pub environment: Arc<BTreeMap<String, String>>,
    /// The command line to run instead of the one in the call; `None` where that one is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// What has to hold where the command starts git; `None` where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) git: Option<GitNeeds>,
}

impl Hardened {
    /// The command line in this form, to be shown or passed on; `None` where it is the one in the call. Whoever runs it takes a
    /// [`ConditionalCommand`](crate::ConditionalCommand), which knows what has to hold first.
    pub fn shown(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// What has to hold where the command starts git.
    pub const fn git(&self) -> Option<&GitNeeds> {
        self.git.as_ref()
    }
}

/// What no variable and no option can make git do, so that it has to be looked at right before the command runs, by
/// [`ConditionalCommand::prove`](crate::ConditionalCommand::prove); where it does not hold, the command must not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitNeeds {
    /// `git version` must be at least this, major and minor: older ones do not know all variables of the
    /// [hardened form](Hardened::environment).
    pub version: (u32, u32),
    /// Folders of the workspace from which git looks for a repository; `.` is the workspace itself.
    pub folders: Vec<String>,
    /// Files below the repository's own folder (`.git`, or what a file of that name leads to) that must not be there, or hold none of
    /// the words `filter`, `diff`, `merge` and `[attr]`, for any repository in one of the folders or above, up to the
    /// workspace: they can name a program of the repository's configuration, and git cannot be told to leave them out.
    ///
    /// Neither may such a repository's configuration have a `core.worktree` outside the workspace.
    pub hides: Vec<String>,
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
    /// What the call would do; at a boundary, only what makes it one.
    pub effects: Vec<Effect>,
    /// Workspace-relative paths that may be read: `.` is the whole workspace, a folder stands for all below it.
    /// Complete for every verdict that allows; at a boundary, and of a command for a view, it may hold an operand that is written
    /// (`sort -o`), and not all that is read.
    pub reads: Vec<WorkspacePath>,
    /// Workspace-relative paths that are written, where they are known: by a call of a file tool, and by a command's
    /// `>`. What a program itself writes is not looked up, for that is a boundary, or shows in a view, whatever its operands are.
    pub writes: Vec<WorkspacePath>,
    /// How the command must run, where its plain form is not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardened: Option<Hardened>,
}

impl Verdict {
    pub(crate) fn new(decision: Decision, reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            decision,
            reason,
            detail: detail.into(),
            effects: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            hardened: None,
        }
    }

    /// A boundary with its reason: also for an engine, which knows what is staged.
    pub fn boundary(reason: Reason, detail: impl Into<String>) -> Self {
        Self::new(Decision::Boundary, reason, detail)
    }

    pub(crate) fn with_effect(mut self, kind: EffectKind, detail: impl Into<String>) -> Self {
        self.effects.push(Effect { kind, detail: detail.into(), span: None });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_one_in_json() {
        fn check<T: Copy + Serialize>(all: &[T], name: fn(T) -> &'static str) {
            for one in all {
                assert_eq!(serde_json::to_value(one).unwrap(), name(*one));
            }
        }
        check(&[Decision::Allow, Decision::Redirect, Decision::Shadow, Decision::Boundary], Decision::as_str);
        check(
            &[
                EffectKind::ReadOnly,
                EffectKind::WritesWorkspace,
                EffectKind::WritesOutside,
                EffectKind::Network,
                EffectKind::Executes,
                EffectKind::ReadsOutside,
                EffectKind::Environment,
                EffectKind::NonTerminating,
                EffectKind::Unknown,
            ],
            EffectKind::as_str,
        );
        check(
            &[
                Reason::ReadOnly,
                Reason::StagedWrite,
                Reason::StagedAsksFirst,
                Reason::InvalidArgument,
                Reason::AmbiguousPath,
                Reason::WriteToolNoAuto,
                Reason::OutsideWorkspace,
                Reason::DeniedPath,
                Reason::SecretPath,
                Reason::ProtectedPath,
                Reason::UnknownTool,
                Reason::Writes,
                Reason::Network,
                Reason::Executes,
                Reason::ReadsOutside,
                Reason::Environment,
                Reason::ReadsStaged,
                Reason::NeedsHost,
                Reason::WritesOutside,
                Reason::ChangedMeanwhile,
                Reason::Policy,
                Reason::NonTerminating,
                Reason::NotUnderstood,
                Reason::Limit,
            ],
            Reason::as_str,
        );
    }
}
