//! The folder that headstart works in.

mod unignored;

use std::io;
use std::path::Path;

use headstart_agent::native::real_path;

pub use self::unignored::{unignored, unignored_but};
use crate::error::CliError;
use crate::store::Record;

/// The absolute path, without links, of the folder that a flag names, or else of the current folder.
pub fn resolve(flag: Option<&Path>) -> Result<String, CliError> {
    let path = flag.unwrap_or(Path::new("."));
    let absolute = real_path(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CliError::NoWorkspace { path: path.to_owned() },
        io::ErrorKind::NotADirectory => CliError::WorkspaceNotADirectory { path: path.to_owned() },
        _ => CliError::io("open", path)(error),
    })?;
    if !absolute.is_dir() {
        return Err(CliError::WorkspaceNotADirectory { path: path.to_owned() });
    }
    absolute.into_os_string().into_string().map_err(|path| CliError::WorkspaceNotUtf8 { path: path.into() })
}

/// The name of a file or folder of the state for a workspace: the workspace's name for people, and the hash of its
/// whole path to make it unique.
pub fn state_name(workspace: &Path) -> String {
    let name = workspace.file_name().unwrap_or_default().to_string_lossy();
    let plain = |sign: char| if sign.is_ascii_alphanumeric() || "-_".contains(sign) { sign } else { '_' };
    let name: String = name.chars().take(40).map(plain).collect();
    format!("{name}-{:016x}", xxhash_rust::xxh3::xxh3_64(workspace.as_os_str().as_encoded_bytes()))
}

/// The workspace of a stored speculation. If a link has taken its place since, that counts as another folder.
pub fn of_record(record: &Record) -> Result<String, CliError> {
    let path = Path::new(&record.workspace);
    let now = resolve(Some(path)).map_err(|error| match error {
        CliError::NoWorkspace { .. } | CliError::WorkspaceNotADirectory { .. } => {
            CliError::WorkspaceGone { id: record.id.to_string(), path: path.to_owned() }
        }
        error => error,
    })?;
    if now != record.workspace {
        return Err(CliError::WorkspaceMoved { id: record.id.to_string(), path: path.to_owned(), now });
    }
    Ok(now)
}
