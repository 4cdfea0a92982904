//! Change sets as JSON texts: JavaScript only holds plain data, so nothing has to be freed.

use std::collections::HashSet;

use headstart_overlay_fs::{
    ChangeKind, ChangeSet, CommitOptions, CommitOutcome, Conflict, Merge, StaleReads, WorkspacePath,
};
use js_sys::{Array, Promise, Uint8Array};
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::{Failure, json};
use crate::input::parse;
use crate::paths::path;
use crate::promise::promise;
use crate::tree::TreeHandle;

/// Reads a text that was checked before.
fn read(text: &str) -> Result<ChangeSet, Failure> {
    parse("changes", text)
}

/// Writes the same change set in the form of this crate, if it is valid.
#[wasm_bindgen(js_name = checkChangeSet)]
pub fn check_change_set(text: &str) -> Result<String, Failure> {
    let changes = read(text)?;
    let mut paths = HashSet::new();
    for (index, change) in changes.changes.iter().enumerate() {
        let field = format!("changes.changes[{index}].path");
        check_path(&field, &change.path)?;
        if change.path.is_root() {
            return Err(Failure::input(field, "the workspace itself cannot be changed"));
        }
        if !paths.insert(&change.path) {
            return Err(Failure::input(field, format!("{} has two changes", change.path)));
        }
        if let ChangeKind::Write { moved_from: Some(from), .. }
        | ChangeKind::Link { moved_from: Some(from), .. } = &change.kind
        {
            check_path(&format!("changes.changes[{index}].kind.movedFrom"), from)?;
        }
    }
    for (index, read) in changes.reads.iter().enumerate() {
        check_path(&format!("changes.reads[{index}].path"), &read.path)?;
    }
    Ok(json(&changes))
}

/// Refuses a path that is not UTF-8, because JavaScript's paths are strings.
fn check_path(field: &str, path: &WorkspacePath) -> Result<(), Failure> {
    match path.as_str() {
        Some(_) => Ok(()),
        None => Err(Failure::input(field, "is not UTF-8, and JavaScript has no such paths")),
    }
}

/// The rows of a list, as JSON.
#[wasm_bindgen(js_name = changeSetSummary)]
pub fn change_set_summary(text: &str) -> Result<String, Failure> {
    Ok(json(&read(text)?.summary()))
}

/// A unified diff, for people or for git.
#[wasm_bindgen(js_name = changeSetDiff)]
pub fn change_set_diff(text: &str, for_git: bool) -> Result<String, Failure> {
    let changes = read(text)?;
    Ok(if for_git { changes.patch() } else { changes.diff() })
}

/// What is at a path before and after, each as its bytes, or nothing.
#[wasm_bindgen(js_name = changeSetSides)]
pub fn change_set_sides(text: &str, at: &str) -> Result<Array, Failure> {
    let (mut changes, path) = (read(text)?, path(at)?);
    let bytes =
        |content: Option<&[u8]>| content.map_or(JsValue::UNDEFINED, |bytes| Uint8Array::from(bytes).into());
    let Some(place) = changes.changes.iter().position(|change| change.path == path) else {
        return Err(Failure::input("path", format!("{path} is not among the changes")));
    };
    let change = changes.changes.swap_remove(place);
    let (after, moved_from) = match &change.kind {
        ChangeKind::Write { content, moved_from, .. } => (Some(&content[..]), moved_from),
        ChangeKind::Link { target, moved_from } => (Some(&target[..]), moved_from),
        ChangeKind::CreateDirectory | ChangeKind::Delete => (None, &None),
    };
    let source = moved_from.as_ref().filter(|_| change.base.is_none());
    let source = source.and_then(|from| changes.changes.iter().find(|change| change.path == *from));
    let before = source.unwrap_or(&change).base_content.as_deref();
    Ok(Array::of2(&bytes(before), &bytes(after)))
}

/// Two change sets as one.
#[wasm_bindgen(js_name = changeSetThen)]
pub fn change_set_then(below: &str, above: &str) -> Result<String, Failure> {
    Ok(json(&read(below)?.then(&read(above)?)))
}

/// The options that the caller sets for a commit.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct CommitOptionFields {
    stale_reads: Option<StaleReadsOption>,
    merge: Option<MergeOption>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StaleReadsOption {
    Conflict,
    Warn,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum MergeOption {
    Text,
    Never,
}

impl CommitOptionFields {
    pub(crate) fn options(&self) -> CommitOptions {
        let stale_reads = match self.stale_reads {
            Some(StaleReadsOption::Warn) => StaleReads::Warn,
            Some(StaleReadsOption::Conflict) | None => StaleReads::Conflict,
        };
        let merge = match self.merge {
            Some(MergeOption::Never) => Merge::Never,
            Some(MergeOption::Text) | None => Merge::Text,
        };
        CommitOptions { stale_reads, merge, ..CommitOptions::default() }
    }
}

/// How a commit ended, as JSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum CommitFields {
    Committed { merged: Vec<WorkspacePath>, stale_reads: Vec<Conflict> },
    Conflict { conflicts: Vec<Conflict> },
}

/// Commits a change set; the answer is the outcome as a JSON text.
#[wasm_bindgen]
pub fn commit(tree: TreeHandle, changes: &str, options: &str) -> Result<Promise, Failure> {
    let (workspace, changes) = (tree.workspace()?, read(changes)?);
    let options = parse::<CommitOptionFields>("options", options)?.options();
    Ok(promise(Box::pin(async move {
        let outcome = match workspace.commit(&changes, options).await? {
            CommitOutcome::Committed(committed) => {
                CommitFields::Committed { merged: committed.merged, stale_reads: committed.stale_reads }
            }
            CommitOutcome::Conflict(conflicts) => CommitFields::Conflict { conflicts },
        };
        Ok(json(&outcome).into())
    })))
}
