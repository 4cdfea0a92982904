//! Which language servers are installed for the files of a workspace.

use std::path::{Path, PathBuf};

use headstart_code_intel::Adapter;
use headstart_overlay_fs::WorkspacePath;

use super::command;
use super::program::Programs;
use crate::config::IntelMode;
use crate::workspace::unignored_but;

/// The most names of a workspace that are read to find its languages; below it the greatest depth.
const MAX_NAMES: usize = 4_000;
const DEPTH: usize = 6;

/// A server, and whether it is installed.
#[derive(Debug, Clone)]
pub struct LanguageServer {
    pub adapter: Adapter,
    /// Its program; `None` if it is not installed.
    pub program: Option<PathBuf>,
    /// A file of the workspace for which it can be used.
    pub file: Option<WorkspacePath>,
}

/// All known servers.
pub(super) fn all(
    adapters: &[Adapter],
    mode: IntelMode,
    programs: &Programs,
    workspace: &Path,
) -> Vec<LanguageServer> {
    let mut all: Vec<LanguageServer> = adapters
        .iter()
        .map(|adapter| LanguageServer {
            adapter: adapter.clone(),
            program: command(adapter, mode).and_then(|name| programs.find(name)),
            file: None,
        })
        .collect();
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let walk = unignored_but(workspace, is_hidden).max_depth(Some(DEPTH)).build();
    let files = walk
        .filter_map(Result::ok)
        .take(MAX_NAMES)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    for entry in files {
        let below = entry.path().strip_prefix(workspace).ok().and_then(Path::to_str);
        let Some(path) = below.and_then(|below| WorkspacePath::parse(below).ok()) else { continue };
        for found in all.iter_mut().filter(|found| found.file.is_none()) {
            found.file = found.adapter.language(&path).map(|_| path.clone());
        }
        if all.iter().all(|found| found.file.is_some()) {
            break;
        }
    }
    all
}

/// The servers for the languages of the workspace.
pub(super) fn in_workspace(
    adapters: &[Adapter],
    mode: IntelMode,
    programs: &Programs,
    workspace: &Path,
) -> Vec<LanguageServer> {
    let mut all = all(adapters, mode, programs, workspace);
    all.retain(|found| found.file.is_some());
    all
}

/// The adapters, without those that an installed alternative replaces. One that is not installed is only named if no
/// alternative is.
pub(super) fn usable(adapters: &[Adapter], mode: IntelMode, programs: &Programs) -> Vec<Adapter> {
    let is_there = |adapter: &Adapter| is_present(adapter, mode, programs);
    let (there, missing): (Vec<&Adapter>, Vec<&Adapter>) =
        adapters.iter().partition(|adapter| is_there(adapter));
    let known = |ending: &String| there.iter().any(|other| other.languages.contains_key(ending));
    let wanted = missing.into_iter().filter(|adapter| !adapter.languages.keys().any(known));
    there.iter().copied().chain(wanted).cloned().collect()
}

/// Whether its program is installed.
fn is_present(adapter: &Adapter, mode: IntelMode, programs: &Programs) -> bool {
    command(adapter, mode).is_some_and(|name| programs.find(name).is_some())
}
