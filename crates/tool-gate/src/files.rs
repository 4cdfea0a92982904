//! Verdicts on paths that a call names: what reads and writes of files come to.

use headstart_workspace_path::{PathError, WorkspacePath};
use serde_json::{Map, Value};

use crate::{
    ApprovalMode, BuiltinTool, Decision, Declaration, Does, EffectKind, GateContext, GateError, Reason,
    Verdict,
};

/// What is done at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Its content is read.
    Read,
    /// It is created, changed or removed.
    Write,
}

/// The verdict on a path that work ahead of the user reads or changes, by whichever call.
pub(crate) fn judge_path(access: Access, path: &WorkspacePath, context: &GateContext) -> Verdict {
    match access {
        Access::Read => closed_to_reads(path, context)
            .unwrap_or_else(|| reading(BuiltinTool::ReadFile.name(), std::slice::from_ref(path))),
        Access::Write => ahead(BuiltinTool::WriteFile.name(), context, |mode| {
            writing(BuiltinTool::WriteFile.name(), std::slice::from_ref(path), context, mode)
        }),
    }
}

/// What a call that may stage something is ahead of the user, by what it is in a mode.
pub(crate) fn ahead(
    tool: &str,
    context: &GateContext,
    judge: impl FnOnce(ApprovalMode) -> Verdict,
) -> Verdict {
    if !context.asks_when_taken() {
        return judge(context.mode);
    }
    let mut verdict = judge(ApprovalMode::AutoEdit);
    if verdict.decision == Decision::Redirect {
        verdict.reason = Reason::StagedAsksFirst;
        verdict.detail = format!("{tool} is staged, and asks before it is applied");
    }
    verdict
}

pub(crate) fn judge_read(tool: BuiltinTool, args: &Map<String, Value>, context: &GateContext) -> Verdict {
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
    if let Some(closed) = closed_to_reads(&path, context) {
        return closed;
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
    reading(tool.name(), &[path])
}

/// Code intelligence: positions in a file, or the whole workspace.
pub(crate) fn judge_lsp(args: &Map<String, Value>, context: &GateContext) -> Verdict {
    if args.contains_key("uri") {
        return Verdict::boundary(Reason::OutsideWorkspace, "a URI may name any file; give a path");
    }
    judge_read(BuiltinTool::Ls, args, context)
}

pub(crate) fn judge_write(
    tool: BuiltinTool,
    args: &Map<String, Value>,
    context: &GateContext,
    mode: ApprovalMode,
) -> Verdict {
    let asks = || asks(tool.name(), tool.path_arg(args).unwrap_or("a file"));
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
    writing(tool.name(), &[path], context, mode)
}

/// A tool of the host's own, by what the host says of it. One that names no path may reach every file that is open.
pub(crate) fn judge_declared(
    declared: &Declaration,
    args: &Map<String, Value>,
    context: &GateContext,
    mode: ApprovalMode,
) -> Verdict {
    #[cfg(feature = "tool-servers")]
    if declared.does == Does::Network {
        let detail = format!("{} opens a connection", declared.name);
        return Verdict::boundary(Reason::Network, detail)
            .with_effect(EffectKind::Network, "opens a connection");
    }
    #[cfg(feature = "tool-servers")]
    if declared.sees_real_files() {
        return crate::server_tools::judge(declared, args, context);
    }
    if declared.does == Does::ServesSession {
        return Verdict::new(Decision::Allow, Reason::ReadOnly, format!("{} changes no file", declared.name));
    }
    if declared.does == Does::RunsSubTask {
        let detail = format!("each call of a {} is judged by itself", declared.name);
        return Verdict::new(Decision::Allow, Reason::ReadOnly, detail);
    }
    let named = match declared.paths_in(args) {
        Ok(named) => named,
        Err(error) => return path_error(&error),
    };
    let mut paths = Vec::new();
    for path in named {
        match context.resolve(path) {
            Ok(path) => paths.push(path),
            Err(PathError::Empty) => return refused_by_tool("the path is empty"),
            Err(error) => return outside(&error),
        }
    }
    if paths.is_empty() {
        paths.push(WorkspacePath::root());
    }
    if declared.stages_in(args) {
        return writing(&declared.name, &paths, context, mode);
    }
    let closed = paths.iter().find_map(|path| closed_to_reads(path, context));
    closed.unwrap_or_else(|| reading(&declared.name, &paths))
}

/// Why nobody reads a path who was not asked for it.
pub(crate) fn closed_to_reads(path: &WorkspacePath, context: &GateContext) -> Option<Verdict> {
    if let Some(rule) = context.deny.matching(path) {
        return Some(denied(path, &rule.0));
    }
    let pattern = context.deny.secret(path)?;
    Some(secret(path, pattern, EffectKind::ReadOnly, "reads"))
}

pub(crate) fn reading(tool: &str, paths: &[WorkspacePath]) -> Verdict {
    let verdict = Verdict::new(Decision::Allow, Reason::ReadOnly, format!("{tool} only reads"));
    paths.iter().fold(verdict, |verdict, path| {
        let mut verdict = verdict.with_effect(EffectKind::ReadOnly, format!("reads {path}"));
        verdict.reads.push(path.clone());
        verdict
    })
}

/// A change at these paths by a tool of this name. What no answer of the user's opens, and what they must know before they answer, comes
/// before the mode.
fn writing(tool: &str, paths: &[WorkspacePath], context: &GateContext, mode: ApprovalMode) -> Verdict {
    let asks_first = !mode.edits_files();
    if let Some(closed) = paths.iter().find_map(|path| closed_to_writes(path, context, asks_first)) {
        return closed;
    }
    if asks_first {
        let protected = paths.iter().find_map(|path| Some((path, protected(path)?)));
        let path = protected.as_ref().map(|(path, _)| *path).or(paths.first());
        let asked = asks(tool, &path.map_or_else(|| "a file".to_owned(), ToString::to_string));
        return match protected {
            None => asked,
            Some((path, (kind, effect, why))) => {
                Verdict { detail: format!("{}; {path} {why}", asked.detail), ..asked }
                    .with_effect(kind, effect)
            }
        };
    }
    let verdict = Verdict::new(Decision::Redirect, Reason::StagedWrite, format!("{tool} is staged"));
    paths.iter().fold(verdict, |verdict, path| {
        let mut verdict = verdict.with_effect(EffectKind::WritesWorkspace, format!("writes {path}"));
        verdict.reads.push(path.clone());
        verdict.writes.push(path.clone());
        verdict
    })
}

/// Why a change at a path is not staged, in any mode. One at a protected path only asks in a mode that asks anyway.
fn closed_to_writes(path: &WorkspacePath, context: &GateContext, asks_first: bool) -> Option<Verdict> {
    if let Some(rule) = context.deny.matching(path) {
        return Some(denied(path, &rule.0));
    }
    if let Some((kind, effect, why)) = protected(path) {
        let stops =
            || Verdict::boundary(Reason::ProtectedPath, format!("{path} {why}")).with_effect(kind, effect);
        return (!asks_first).then(stops);
    }
    let pattern = context.deny.secret(path)?;
    Some(secret(path, pattern, EffectKind::WritesWorkspace, "writes"))
}

fn asks(tool: &str, path: &str) -> Verdict {
    Verdict::boundary(Reason::WriteToolNoAuto, format!("{tool} asks first in this mode"))
        .with_effect(EffectKind::WritesWorkspace, format!("writes {path}"))
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

pub(crate) fn path_error(error: &GateError) -> Verdict {
    match error {
        GateError::AmbiguousPath { .. } => Verdict::boundary(Reason::AmbiguousPath, error.to_string()),
        _ => refused_by_tool(&error.to_string()),
    }
}

pub(crate) fn outside(error: &PathError) -> Verdict {
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
