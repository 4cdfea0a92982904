use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use headstart_tool_gate::clean_environment as gates_environment;

/// The environment that the gate's verdicts depend on, with folders of the user's programs added after those of the
/// system.
///
/// Of the user's own variables only the home folder and the search path are used. `BASH_ENV`, `LD_*`, `GIT_*`, pagers,
/// editors and exported functions choose programs, and keys and tokens must not reach the command.
pub(crate) fn clean_environment(
    users: &BTreeMap<OsString, OsString>,
    workspace: &Path,
) -> BTreeMap<OsString, OsString> {
    let home = users.get(OsStr::new("HOME")).and_then(|home| home.to_str()).unwrap_or("/");
    let mut clean: BTreeMap<OsString, OsString> =
        gates_environment(home).into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let system = clean.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let path = extended(&system, users.get(OsStr::new("PATH")), workspace).unwrap_or(system);
    clean.insert("PATH".into(), path);
    clean
}

/// The system's folders, followed by the user's. Relative folders, and those into which the repository could have put
/// programs, are left out.
fn extended(system: &OsStr, users: Option<&OsString>, workspace: &Path) -> Option<OsString> {
    let outside = |folder: &PathBuf| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        !folder.starts_with(workspace) && !real.starts_with(workspace)
    };
    let users = users.into_iter().flat_map(std::env::split_paths).filter(outside);
    joined(std::env::split_paths(system).chain(users))
}

/// The user's folders in their order, followed by those of the system that are not among them. Folders of the workspace
/// are included (an activated virtual environment), so only what is contained may run with this search path.
pub(crate) fn users_path_first(system: &OsStr, users: Option<&OsString>) -> Option<OsString> {
    joined(users.into_iter().flat_map(std::env::split_paths).chain(std::env::split_paths(system)))
}

/// The absolute ones of these folders, each once.
fn joined(folders: impl Iterator<Item = PathBuf>) -> Option<OsString> {
    let mut once: Vec<PathBuf> = Vec::new();
    for folder in folders.filter(|folder| folder.is_absolute()) {
        if !once.contains(&folder) {
            once.push(folder);
        }
    }
    std::env::join_paths(once).ok()
}
