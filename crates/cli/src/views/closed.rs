//! What must not be in a view: paths that a rule closes.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::DenyRules;
use headstart_toolbox::Secrets;

/// Folders that no file with a secret of the user's is looked for in: what package managers and compilers wrote. Deny rules count there, too.
const NOT_SEARCHED: [&str; 4] = [".git", "node_modules", ".venv", "target"];
/// So many names are looked at before a command.
const MOST_NAMES: usize = 1_000_000;

/// The paths on disk that are closed, the uppermost of each.
pub(super) fn paths(workspace: &Path, deny: &DenyRules, secrets: Secrets) -> io::Result<Vec<WorkspacePath>> {
    let mut search = Search { deny, secrets, looked_at: 0, found: Vec::new() };
    search.folder(workspace, &WorkspacePath::root(), secrets == Secrets::Closed)?;
    Ok(search.found)
}

struct Search<'a> {
    deny: &'a DenyRules,
    secrets: Secrets,
    looked_at: usize,
    found: Vec<WorkspacePath>,
}

impl Search<'_> {
    fn folder(&mut self, folder: &Path, path: &WorkspacePath, for_secrets: bool) -> io::Result<()> {
        if self.deny.is_empty() && !for_secrets {
            return Ok(());
        }
        // What cannot be listed cannot be searched by a command either, which has the same user.
        let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
        for entry in entries {
            let entry = entry?;
            self.looked_at += 1;
            if MOST_NAMES < self.looked_at {
                let message = format!(
                    "it holds more than {MOST_NAMES} files, too many to look for closed ones among them"
                );
                return Err(io::Error::other(message));
            }
            let name = entry.file_name();
            let below = path.join_bytes(name.as_bytes()).map_err(io::Error::other)?;
            let is_secret =
                for_secrets && self.secrets == Secrets::Closed && self.deny.secret(&below).is_some();
            if is_secret || self.deny.matching(&below).is_some() {
                self.found.push(below);
            } else if entry.file_type()?.is_dir() {
                let searched = for_secrets && !NOT_SEARCHED.iter().any(|known| name == *known);
                self.folder(&entry.path(), &below, searched)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_paths_are_found_also_where_git_ignores_them() {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            ".env",
            ".gitignore",
            "sub/.env.local",
            "keys/a",
            "keys/deep/b",
            "target/x/server.pem",
            "target/keys/c",
            "src/lib.rs",
        ] {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, ".env\n").unwrap();
        }
        let found = |deny: &[&str], secrets| {
            let deny = DenyRules::from_patterns(deny.iter().copied()).unwrap();
            let mut found: Vec<_> =
                paths(folder.path(), &deny, secrets).unwrap().iter().map(ToString::to_string).collect();
            found.sort();
            found
        };
        assert_eq!(found(&[], Secrets::Closed), [".env", "sub/.env.local"]);
        assert_eq!(found(&["keys"], Secrets::Closed), [".env", "keys", "sub/.env.local", "target/keys"]);
        assert_eq!(found(&["keys"], Secrets::Open), ["keys", "target/keys"]);
        assert_eq!(found(&[], Secrets::Open), [""; 0]);
    }
}
