#[cfg(feature = "shell")]
use std::cell::RefCell;
use std::fmt;

use headstart_workspace_path::{PathError, WorkspacePath};
use serde_json::{Map, Value};

use crate::builtin::one_text;
#[cfg(feature = "shell")]
use crate::shell::Witness;
use crate::{
    AheadWrites, ApprovalMode, BuiltinTool, CallRef, Decision, EffectKind, GateContext, GateError, Reason,
    Verdict,
};
#[cfg(feature = "shell")]
use crate::{decide, shadow, shell};

/// Judges calls. Each thread keeps a parser of commands between them.
#[derive(Default)]
#[non_exhaustive]
pub struct Gate;

#[cfg(feature = "shell")]
thread_local! {
    // A parser is not `Send` on wasm32, and a `Gate` must be: the host shares it between futures.
    static WITNESS: RefCell<Witness> = RefCell::default();
}

/// When a command would run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Now,
    Ahead,
}

/// Tools that need the user, reach the network or start other agents: known, and never speculated.
const DENIED_TOOLS: [&str; 24] = [
    "agent",
    "Agent",
    "Task",
    "skill",
    "Skill",
    "todo_write",
    "TodoWrite",
    "save_memory",
    "SaveMemory",
    "ask_user_question",
    "AskUserQuestion",
    "exit_plan_mode",
    "ExitPlanMode",
    "enter_plan_mode",
    "EnterPlanMode",
    "team_plan_approval",
    "web_fetch",
    "WebFetch",
    "web_search",
    "WebSearch",
    "google_web_search",
    "task",
    "memory",
    "ask_user",
];

impl Gate {
    /// A gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// The verdict on one call. Never runs, reads or writes anything.
    pub fn judge(&self, call: CallRef<'_>, context: &GateContext) -> Verdict {
        match BuiltinTool::from_name(call.name) {
            Some(BuiltinTool::Shell) => Self::judge_shell(call.args, context, Asked::Now),
            Some(tool @ (BuiltinTool::Edit | BuiltinTool::WriteFile)) => {
                judge_write(tool, call.args, context, context.mode)
            }
            Some(tool) => judge_read(tool, call.args, context),
            None if call.name == "lsp" => judge_lsp(call.args, context),
            None if DENIED_TOOLS.contains(&call.name) => Verdict::boundary(
                Reason::DeniedTool,
                format!("{} needs the user, or reaches outside the workspace", call.name),
            ),
            None => {
                Verdict::boundary(Reason::UnknownTool, format!("{:?} is no tool the gate knows", call.name))
                    .with_effect(EffectKind::Unknown, "an unknown tool may do anything")
            }
        }
    }

    /// The verdict on a call of work that runs ahead of the user.
    ///
    /// As [`judge`](Self::judge), but for an edit in [`ApprovalMode::Default`] with [`AheadWrites::Ask`]: that is staged
    /// as in [`ApprovalMode::AutoEdit`], with [`Reason::StagedAsksFirst`]. Whoever applies such work must have shown
    /// the user what it changes and got their yes. For a call that runs at once this is the wrong question.
    ///
    /// And but for a shell command, where [`GateContext::views`] says that there are views: one that writes, runs programs, depends on the
    /// environment or is not understood is [`Decision::Shadow`], with the reason for which it would be a boundary. It stays a boundary in
    /// [`ApprovalMode::Plan`]; where it may also do what a view keeps from the user's machine without giving it to the command (a
    /// connection, a path outside, no end, a service of the host); and at a path or a program that a rule is about.
    pub fn judge_ahead(&self, call: CallRef<'_>, context: &GateContext) -> Verdict {
        let asks_when_taken =
            context.mode == ApprovalMode::Default && context.ahead_writes == AheadWrites::Ask;
        let tool = match BuiltinTool::from_name(call.name) {
            Some(tool @ (BuiltinTool::Edit | BuiltinTool::WriteFile)) if asks_when_taken => tool,
            Some(BuiltinTool::Shell) => return Self::judge_shell(call.args, context, Asked::Ahead),
            _ => return self.judge(call, context),
        };
        let mut verdict = judge_write(tool, call.args, context, ApprovalMode::AutoEdit);
        if verdict.decision == Decision::Redirect {
            verdict.reason = Reason::StagedAsksFirst;
            verdict.detail = format!("{} is staged, and asks before it is applied", tool.name());
        }
        verdict
    }

    /// The verdict on a shell command in the workspace root.
    pub fn judge_command(&self, command: &str, context: &GateContext) -> Verdict {
        Self::judge_shell_in(command, WorkspacePath::root(), context, Asked::Now)
    }

    fn judge_shell(args: &Map<String, Value>, context: &GateContext, asked: Asked) -> Verdict {
        let invalid = |detail: String| {
            Verdict::boundary(Reason::InvalidArgument, detail)
                .with_effect(EffectKind::Unknown, "no command that the gate can read")
        };
        let command = match one_text(args, &["command", "cmd"]) {
            Ok(Some(command)) => command,
            Ok(None) => return invalid("argument \"command\" must be a string".to_owned()),
            Err(error) => return invalid(error.to_string()),
        };
        for flag in ["is_background", "run_in_background"] {
            if !matches!(args.get(flag), None | Some(Value::Null | Value::Bool(false))) {
                let mut verdict =
                    Verdict::boundary(Reason::NonTerminating, "the command would outlive the call")
                        .with_effect(EffectKind::NonTerminating, "runs in the background");
                verdict.effects.iter_mut().for_each(|effect| effect.span = Some((0, command.len())));
                return verdict;
            }
        }
        let directory = match BuiltinTool::Shell.path_argument(args) {
            Ok(directory) => directory.unwrap_or("."),
            Err(error) => return path_error(&error),
        };
        match context.resolve(directory) {
            Ok(directory) => Self::judge_shell_in(command, directory, context, asked),
            Err(error) => outside(&error),
        }
    }

    #[cfg(feature = "shell")]
    fn judge_shell_in(
        command: &str,
        directory: WorkspacePath,
        context: &GateContext,
        asked: Asked,
    ) -> Verdict {
        let findings =
            WITNESS.with_borrow_mut(|witness| shell::classify(command, directory, context, witness));
        if asked == Asked::Ahead && shadow::is_possible(context) {
            let facts = shadow::Facts::of(&findings, context);
            return shadow::instead_of_boundary(decide::decide(findings, context), facts, command, context);
        }
        decide::decide(findings, context)
    }

    #[cfg(not(feature = "shell"))]
    fn judge_shell_in(command: &str, _: WorkspacePath, _: &GateContext, _: Asked) -> Verdict {
        let detail = "this program was built without the shell gate, so no command can be judged";
        let mut verdict =
            Verdict::boundary(Reason::NotUnderstood, detail).with_effect(EffectKind::Unknown, detail);
        verdict.effects.iter_mut().for_each(|effect| effect.span = Some((0, command.len())));
        verdict
    }
}

/// The verdict on an example, and the policies that decide it or would.
#[cfg(feature = "shell")]
pub(crate) fn judge_with_policies(command: &str, context: &GateContext) -> (Verdict, Vec<usize>) {
    let mut findings =
        WITNESS.with_borrow_mut(|witness| shell::classify(command, WorkspacePath::root(), context, witness));
    let judged = &mut findings.judged;
    let fitting = [&judged.allowed[..], &judged.stopped, &judged.unneeded].concat();
    (decide::decide(findings, context), fitting)
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

fn judge_read(tool: BuiltinTool, args: &Map<String, Value>, context: &GateContext) -> Verdict {
    let path = match (tool.path_argument(args), tool.path_is_optional()) {
        (Ok(Some(path)), _) => path,
        (Ok(None), true) => ".",
        (Ok(None), false) => return refused_by_tool("no argument names a file"),
        (Err(error), _) => return path_error(&error),
    };
    let path = match context.resolve(path) {
        Ok(path) => path,
        Err(PathError::Empty) => return refused_by_tool("the path is empty"),
        Err(error) => return outside(&error),
    };
    if let Some(rule) = context.deny.matching(&path) {
        return denied(&path, &rule.0);
    }
    if let Some(pattern) = context.deny.secret(&path) {
        return secret(&path, pattern, EffectKind::ReadOnly, "reads");
    }
    // The tool takes a pattern below its path; one that steps out of the workspace is a read outside.
    let patterns: &[&str] = match tool {
        BuiltinTool::Glob => &["pattern"],
        BuiltinTool::Grep => &["glob", "include"],
        _ => &[],
    };
    for key in patterns {
        if let Some(pattern) = args.get(*key).and_then(Value::as_str)
            && let Err(error) = pattern_inside(pattern, &path, context)
        {
            return outside(&error);
        }
    }
    let mut verdict = Verdict::new(Decision::Allow, Reason::ReadOnly, format!("{} only reads", tool.name()))
        .with_effect(EffectKind::ReadOnly, format!("reads {path}"));
    verdict.reads.push(path.to_string());
    verdict
}

/// Code intelligence: positions in a file, or the whole workspace.
fn judge_lsp(args: &Map<String, Value>, context: &GateContext) -> Verdict {
    if args.contains_key("uri") {
        return Verdict::boundary(Reason::OutsideWorkspace, "a URI may name any file; give a path");
    }
    judge_read(BuiltinTool::Ls, args, context)
}

fn judge_write(
    tool: BuiltinTool,
    args: &Map<String, Value>,
    context: &GateContext,
    mode: ApprovalMode,
) -> Verdict {
    let asks = || {
        let path = tool.path_arg(args).unwrap_or("a file");
        let detail = format!("{} asks first in this mode", tool.name());
        Verdict::boundary(Reason::WriteToolNoAuto, detail)
            .with_effect(EffectKind::WritesWorkspace, format!("writes {path}"))
    };
    let asks_first = !mode.edits_files();
    let path = match tool.path_argument(args) {
        Ok(Some(path)) => path,
        _ if asks_first => return asks(),
        Ok(None) => return refused_by_tool("no argument names a file"),
        Err(error) => return path_error(&error),
    };
    let path = match context.resolve(path) {
        Ok(path) => path,
        Err(_) if asks_first => return asks(),
        Err(PathError::Empty) => return refused_by_tool("the path is empty"),
        Err(error) => return outside(&error),
    };
    // What no answer of the user's opens, and what they must know before they answer, comes before the mode.
    if let Some(rule) = context.deny.matching(&path) {
        return denied(&path, &rule.0);
    }
    if let Some((kind, effect, why)) = protected(&path) {
        let asked = asks();
        let detail = format!("{}; {path} {why}", asked.detail);
        return if asks_first {
            Verdict { detail, ..asked }.with_effect(kind, effect)
        } else {
            Verdict::boundary(Reason::ProtectedPath, format!("{path} {why}")).with_effect(kind, effect)
        };
    }
    if let Some(pattern) = context.deny.secret(&path) {
        return secret(&path, pattern, EffectKind::WritesWorkspace, "writes");
    }
    if asks_first {
        return asks();
    }
    let mut verdict =
        Verdict::new(Decision::Redirect, Reason::StagedWrite, format!("{} is staged", tool.name()))
            .with_effect(EffectKind::WritesWorkspace, format!("writes {path}"));
    verdict.reads.push(path.to_string());
    verdict.writes.push(path.to_string());
    verdict
}

/// Folders whose files decide what other programs do: what is written below them asks first, in every mode but `yolo`.
///
/// Names are compared without their case. The gate judges the path that a call names; whoever follows links looks again.
pub const PROTECTED_FOLDERS: [&str; 2] = [GIT, HEADSTART];
const GIT: &str = ".git";
const HEADSTART: &str = ".headstart";

/// What a write to a path that other programs trust would bring about, and why it is protected.
pub(crate) fn protected(path: &WorkspacePath) -> Option<(EffectKind, &'static str, &'static str)> {
    // File systems that fold case reach the same folder by another spelling.
    let has = |folder: &str| path.names().any(|name| name.eq_ignore_ascii_case(folder.as_bytes()));
    if has(GIT) {
        let effect = "git runs what its configuration and hooks name";
        return Some((EffectKind::Executes, effect, "configures programs that git runs"));
    }
    has(HEADSTART).then_some((
        EffectKind::WritesWorkspace,
        "changes what runs without a question",
        "sets the rules for this workspace",
    ))
}

/// The tool finds no path either, so it can only answer with an error. No file is named: nothing is read or
/// written, and the model learns what to do better.
fn refused_by_tool(detail: &str) -> Verdict {
    Verdict::new(
        Decision::Allow,
        Reason::InvalidArgument,
        format!("{detail}; the tool answers with an error"),
    )
}

fn path_error(error: &GateError) -> Verdict {
    match error {
        GateError::AmbiguousPath { .. } => Verdict::boundary(Reason::AmbiguousPath, error.to_string()),
        _ => refused_by_tool(&error.to_string()),
    }
}

fn outside(error: &PathError) -> Verdict {
    Verdict::boundary(Reason::OutsideWorkspace, error.to_string())
        .with_effect(EffectKind::ReadsOutside, "reaches outside the workspace")
}

fn denied(path: &WorkspacePath, rule: &str) -> Verdict {
    Verdict::boundary(Reason::DeniedPath, format!("the deny rule {rule:?} covers {path}"))
}

/// The user may say yes to this one; nobody else does.
fn secret(path: &WorkspacePath, pattern: &str, kind: EffectKind, does: &str) -> Verdict {
    let detail = format!("{path} may hold a secret, as files named {pattern:?} do");
    Verdict::boundary(Reason::SecretPath, detail).with_effect(kind, format!("{does} {path}"))
}

/// Whether every path that `pattern` matches is inside: its `..` are counted, its wild cards are names.
fn pattern_inside(pattern: &str, folder: &WorkspacePath, context: &GateContext) -> Result<(), PathError> {
    // An alternative may hold a separator, so each one is looked at as if it stood alone.
    let pattern = pattern.trim_start_matches('!');
    let outside = || PathError::Outside { path: pattern.to_owned() };
    if pattern.split(['/', '{', '}', ',', '\\']).any(|name| name == "..") {
        let plain = !pattern.contains(['{', '\\', '*']);
        return if plain { folder.join(pattern).map(drop) } else { Err(outside()) };
    }
    if pattern.contains("{/") || pattern.contains(",/") {
        return Err(outside());
    }
    if pattern.starts_with('/') {
        return context.resolve(pattern).map(drop);
    }
    Ok(())
}
