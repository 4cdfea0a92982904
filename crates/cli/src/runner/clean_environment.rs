use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

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
    let mut folders: Vec<_> = std::env::split_paths(system).collect();
    for folder in users.into_iter().flat_map(std::env::split_paths) {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let inside = folder.starts_with(workspace) || real.starts_with(workspace);
        if folder.is_absolute() && !inside && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    std::env::join_paths(folders).ok()
}
