use std::collections::VecDeque;

use headstart_overlay_fs::{Tree, TreeError, WorkspacePath};
use headstart_tool_gate::protected;

use crate::{ToolContext, ToolError};

/// The most links in one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// The path that an argument names: inside the workspace, links resolved, not closed by a deny rule.
///
/// Links are resolved here and not by the tree, because a rule for the real path counts for every name of it.
pub(crate) async fn locate(path: &str, context: ToolContext<'_>) -> Result<WorkspacePath, ToolError> {
    let named = WorkspacePath::resolve(path, &context.gate.workspace).map_err(ToolError::of)?;
    refuse_denied(&named, &named, context)?;
    follow_links(&named, context).await
}

/// As [`locate`], for a path from an index.
#[cfg(feature = "codebase")]
pub(crate) async fn locate_path(
    path: &WorkspacePath,
    context: ToolContext<'_>,
) -> Result<WorkspacePath, ToolError> {
    refuse_denied(path, path, context)?;
    follow_links(path, context).await
}

/// As [`locate`], for a path that is written: no link may lead to a path that the gate protects by its name.
pub(crate) async fn locate_for_write(
    path: &str,
    context: ToolContext<'_>,
) -> Result<WorkspacePath, ToolError> {
    let real = locate(path, context).await?;
    let named = WorkspacePath::resolve(path, &context.gate.workspace).unwrap_or_default();
    // The user was asked about the name, and not about another one to which it leads.
    if let Some(why) = protected(&real).filter(|_| real != named) {
        let message = format!(
            "{named} leads through a symbolic link to {real}, which {why}, and is not written; name {real} itself"
        );
        return Err(ToolError::failed(message));
    }
    if real.is_root() {
        return Err(ToolError::failed(format!("{named} is the workspace itself; name a file in it")));
    }
    Ok(real)
}

fn refuse_denied(
    named: &WorkspacePath,
    real: &WorkspacePath,
    context: ToolContext<'_>,
) -> Result<(), ToolError> {
    let deny = &context.gate.deny;
    // The user was asked about this name, and not about another one to which it may lead.
    let is_secret = deny.secret(real).is_some() && !(context.consented && deny.secret(named).is_some());
    let why = match (deny.matching(real), is_secret) {
        (Some(_), _) => "closed by a deny rule of the user; go on without it",
        (None, true) => "closed because files of its name hold secrets; go on without it",
        (None, false) => return Ok(()),
    };
    let how = if named == real { "is" } else { "leads through a symbolic link to a path that is" };
    Err(ToolError::failed(format!("{named} {how} {why}")))
}

async fn follow_links(path: &WorkspacePath, context: ToolContext<'_>) -> Result<WorkspacePath, ToolError> {
    let ToolContext { view, gate, .. } = context;
    let escapes = || TreeError::Escapes { path: path.clone() };
    let mut real = WorkspacePath::root();
    let mut rest: VecDeque<Vec<u8>> = path.names().map(<[u8]>::to_vec).collect();
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        // Such a `..` comes from a link, and means the folder above the real one, not above the one that the text
        // names.
        if name == b".." {
            real = real.parent().ok_or_else(escapes)?;
            continue;
        }
        let next = real.join_bytes(&name).map_err(|_| escapes())?;
        // Checked before the path is looked at, because that would be a read.
        refuse_denied(path, &next, context)?;
        match view.metadata(&next).await {
            Ok(metadata) if metadata.kind == headstart_overlay_fs::EntryKind::Symlink => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(escapes().into());
                }
                let target = view.read_link(&next).await?;
                if target.starts_with(b"/") {
                    let target = std::str::from_utf8(&target).map_err(|_| escapes())?;
                    let target = WorkspacePath::resolve(target, &gate.workspace).map_err(|_| escapes())?;
                    real = WorkspacePath::root();
                    prepend(&mut rest, target.as_bytes());
                } else {
                    prepend(&mut rest, &target);
                }
            }
            Ok(_) => real = next,
            // Nothing is there (yet), so the rest can only consist of plain names.
            Err(TreeError::NotFound { .. } | TreeError::NotADirectory { .. }) => {
                let mut missing = next;
                for name in rest {
                    missing = missing.join_bytes(&name).map_err(|_| escapes())?;
                }
                refuse_denied(path, &missing, context)?;
                return Ok(missing);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(real)
}

fn prepend(rest: &mut VecDeque<Vec<u8>>, target: &[u8]) {
    for name in target.split(|byte| *byte == b'/').rev() {
        if !matches!(name, b"" | b".") {
            rest.push_front(name.to_vec());
        }
    }
}
