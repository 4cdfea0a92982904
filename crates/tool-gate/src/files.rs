//! Verdicts on paths that a call names: what reads and writes of files come to.

use headstart_workspace_path::{PathError, WorkspacePath};
use serde_json::{Map, Value};

use crate::{
    ApprovalMode, Decision, Declaration, Does, EffectKind, GateContext, GateError, Reason, Role, Verdict,
    built_in,
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
            .unwrap_or_else(|| reading(&built_in::READ_FILE.name, std::slice::from_ref(path))),
        Access::Write => ahead(&built_in::WRITE_FILE.name, context, |mode| {
            writing(&built_in::WRITE_FILE.name, std::slice::from_ref(path), context, mode)
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

/// A call of a tool that is about files, by what is said of it. One that names no path may reach every file that is open.
pub(crate) fn judge_declared(
    declared: &Declaration,
    args: &Map<String, Value>,
    context: &GateContext,
    mode: ApprovalMode,
) -> Verdict {
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
    if let Some(name) = declared.given(Role::Address, args) {
        let detail = format!("the argument {name:?} may name any place; give a path");
        return Verdict::boundary(Reason::OutsideWorkspace, detail);
    }
    let stages = declared.stages_in(args);
    // An edit of the built-in tools that asks does so whatever is wrong with its path.
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
    // A tool takes a pattern below its path; one that steps out of the workspace is a read outside.
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

/// The paths that a call is about; the error is what becomes of a call that names none as it should.
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
    also_reading(verdict, paths)
}

fn also_reading(verdict: Verdict, paths: &[WorkspacePath]) -> Verdict {
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
