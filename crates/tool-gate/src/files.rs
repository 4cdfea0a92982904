//! Verdicts on the paths that calls of file tools name.

use headstart_workspace_path::{PathError, WorkspacePath};
use serde_json::{Map, Value};

use crate::protected::{self, protected};
use crate::{
    ApprovalMode, Behaviour, Decision, Declaration, EffectKind, GateContext, GateError, Reason, Role,
    Verdict, built_in,
};

/// What is done at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Its content is read.
    Read,
    /// It is created, changed or removed.
    Write,
}

/// The verdict on a path that work ahead of the user reads or changes, whatever the call.
pub(crate) fn judge_path(access: Access, path: &WorkspacePath, context: &GateContext) -> Verdict {
    match access {
        Access::Read => closed_to_reads(path, context)
            .unwrap_or_else(|| reading(&built_in::READ_FILE.name, std::slice::from_ref(path))),
        Access::Write => ahead(&built_in::WRITE_FILE.name, context, |mode| {
            writing(&built_in::WRITE_FILE.name, std::slice::from_ref(path), context, mode)
        }),
    }
}

/// What becomes, ahead of the user, of a call that may stage something, given what it would become in a turn.
pub(crate) fn ahead(
    tool: &str,
    context: &GateContext,
    judge: impl FnOnce(ApprovalMode) -> Verdict,
) -> Verdict {
    if !context.asks_on_accept() {
        return judge(context.mode);
    }
    let mut verdict = judge(ApprovalMode::AutoEdit);
    if verdict.decision == Decision::Redirect {
        verdict.reason = Reason::StagedAsksFirst;
        verdict.detail = format!("{tool} is staged, and asks before it is applied");
    }
    verdict
}

/// The verdict on a call of a tool for files, by its declaration. A call that names no path may reach every file that
/// is open.
pub(crate) fn judge_declared(
    declared: &Declaration,
    args: &Map<String, Value>,
    context: &GateContext,
    mode: ApprovalMode,
) -> Verdict {
    if declared.behaviour == Behaviour::Network {
        let detail = format!("{} opens a connection", declared.name);
        return Verdict::boundary(Reason::Network, detail)
            .with_effect(EffectKind::Network, "opens a connection");
    }
    #[cfg(feature = "tool-servers")]
    if declared.sees_real_files() {
        return crate::server_tools::judge(declared, args, context);
    }
    if declared.behaviour == Behaviour::ServesSession {
        return Verdict::new(Decision::Allow, Reason::ReadOnly, format!("{} changes no file", declared.name));
    }
    if declared.behaviour == Behaviour::RunsSubTask {
        let detail = format!("each call of a {} is judged by itself", declared.name);
        return Verdict::new(Decision::Allow, Reason::ReadOnly, detail);
    }
    if let Some(name) = declared.given(Role::Address, args) {
        let detail = format!("the argument {name:?} may name any place; give a path");
        return Verdict::boundary(Reason::OutsideWorkspace, detail);
    }
    let stages = declared.stages_in(args);
    // In a mode that asks about edits, an edit by a built-in tool asks even if its path is wrong.
    let asks_anyway = stages && !mode.edits_files() && declared.is_built_in();
    let paths = match paths_of(declared, args, context) {
        Ok(paths) => paths,
        Err(_) if asks_anyway => return asks(&declared.name, declared.only_path(args).unwrap_or("a file")),
        Err(verdict) => return *verdict,
    };
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for (role, path) in paths {
        if stages && role == Role::Changed { writes.push(path) } else { reads.push(path) }
    }
    if stages && writes.is_empty() {
        writes.push(WorkspacePath::root());
    }
    if let Some(closed) = reads.iter().find_map(|path| closed_to_reads(path, context)) {
        return closed;
    }
    // A pattern counts from the call's path; one that steps out of the workspace is a read outside.
    let root = WorkspacePath::root();
    for pattern in declared.texts_of(Role::Pattern, args) {
        if let Err(error) = pattern_inside(pattern, reads.first().unwrap_or(&root), context) {
            return outside(&error);
        }
    }
    if !stages {
        return reading(&declared.name, &reads);
    }
    let verdict = writing(&declared.name, &writes, context, mode);
    if verdict.decision == Decision::Redirect { also_reading(verdict, &reads) } else { verdict }
}

/// The paths that a call names. The error is the verdict on a call that does not name them properly.
fn paths_of(
    declared: &Declaration,
    args: &Map<String, Value>,
    context: &GateContext,
) -> Result<Vec<(Role, WorkspacePath)>, Box<Verdict>> {
    let named = declared.paths_in(args).map_err(|error| Box::new(path_error(&error)))?;
    if named.is_empty() && declared.needs_path() {
        return Err(refused_by_tool("no argument names a file").into());
    }
    let mut paths = Vec::new();
    for (role, path) in named {
        match context.resolve(path) {
            Ok(path) => paths.push((role, path)),
            Err(PathError::Empty) => return Err(refused_by_tool("the path is empty").into()),
            Err(error) => return Err(outside(&error).into()),
        }
    }
    if paths.is_empty() {
        paths.push((Role::Changed, WorkspacePath::root()));
    }
    Ok(paths)
}

/// Why a path may not be read without asking the user.
pub(crate) fn closed_to_reads(path: &WorkspacePath, context: &GateContext) -> Option<Verdict> {
    if let Some(rule) = context.deny.matching(path) {
        return Some(denied(path, &rule.0));
    }
    let pattern = context.deny.secret(path)?;
    Some(secret(path, pattern, EffectKind::ReadOnly, "reads"))
}

pub(crate) fn reading(tool: &str, paths: &[WorkspacePath]) -> Verdict {
    let verdict = Verdict::new(Decision::Allow, Reason::ReadOnly, format!("{tool} only reads"));
    also_reading(verdict, paths)
}

fn also_reading(verdict: Verdict, paths: &[WorkspacePath]) -> Verdict {
    paths.iter().fold(verdict, |verdict, path| {
        let mut verdict = verdict.with_effect(EffectKind::ReadOnly, format!("reads {path}"));
        verdict.reads.push(path.clone());
        verdict
    })
}

/// The verdict on changing these paths with this tool. What no answer of the user can permit, and what they must know
/// before they answer, is checked before the mode.
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
            Some((path, why)) => {
                let detail = format!("{}; {path} {why}", asked.detail);
                Verdict { detail, ..asked }.with_effect(EffectKind::Executes, format!("{path} {why}"))
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

/// Why a change of a path is not staged, in any mode. In a mode that asks first, a protected path only asks.
fn closed_to_writes(path: &WorkspacePath, context: &GateContext, asks_first: bool) -> Option<Verdict> {
    if let Some(rule) = context.deny.matching(path) {
        return Some(denied(path, &rule.0));
    }
    if let Some(why) = protected(path) {
        return (!asks_first).then(|| protected::verdict(path, why));
    }
    let pattern = context.deny.secret(path)?;
    Some(secret(path, pattern, EffectKind::WritesWorkspace, "writes"))
}

fn asks(tool: &str, path: &str) -> Verdict {
    Verdict::boundary(Reason::WriteToolNoAuto, format!("{tool} asks first in this mode"))
        .with_effect(EffectKind::WritesWorkspace, format!("writes {path}"))
}

/// The verdict on a call in which the tool finds no path either. The tool can only answer with an error, which
/// touches no file and tells the model what to correct, so the call may run.
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

/// A path with a secret: only the user can permit it.
fn secret(path: &WorkspacePath, pattern: &str, kind: EffectKind, does: &str) -> Verdict {
    let detail = format!("{path} may hold a secret, as files named {pattern:?} do");
    Verdict::boundary(Reason::SecretPath, detail).with_effect(kind, format!("{does} {path}"))
}

/// Whether every path that `pattern` matches is inside the workspace: each `..` is counted, and a wildcard stands for
/// a name.
fn pattern_inside(pattern: &str, folder: &WorkspacePath, context: &GateContext) -> Result<(), PathError> {
    // An alternative between braces may hold a separator, so each one is checked as if it stood alone.
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
