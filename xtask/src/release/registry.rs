//! The entry for the registry in which editors find agents that speak the Agent Client Protocol. Editors start the npm
//! package that the entry names.

use std::path::{Path, PathBuf};

use super::{ReleaseError, write};

const ENTRY: &str = include_str!("../../../release/acp-registry/headstart/agent.json");
const ICON: &str = include_str!("../../../release/acp-registry/headstart/icon.svg");

/// Writes the entry of this version as a folder in the registry's form. Returns the files.
pub(super) fn entry(
    folder: &Path,
    version: &str,
    repository: Option<&str>,
) -> Result<Vec<PathBuf>, ReleaseError> {
    let folder = folder.join("acp-registry/headstart");
    let license = "  \"license\": ";
    let entry = match repository {
        Some(url) => ENTRY.replace(license, &format!("  \"repository\": \"{url}\",\n{license}")),
        None => ENTRY.to_owned(),
    };
    let entry = entry.replace("@VERSION@", version);
    let files = [(folder.join("agent.json"), entry), (folder.join("icon.svg"), ICON.to_owned())];
    for (file, content) in &files {
        write(file, content)?;
    }
    Ok(files.map(|(file, _)| file).to_vec())
}
