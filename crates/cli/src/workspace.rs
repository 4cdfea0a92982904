use std::io;
use std::path::Path;

use crate::error::CliError;
use crate::store::Record;

/// The absolute path, without links, of the folder that a flag names, else of the current one.
pub(crate) fn resolve(flag: Option<&Path>) -> Result<String, CliError> {
    let path = flag.unwrap_or(Path::new("."));
    let absolute = path.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CliError::NoWorkspace { path: path.to_owned() },
        io::ErrorKind::NotADirectory => CliError::WorkspaceNotADirectory { path: path.to_owned() },
        _ => CliError::io("open", path)(error),
    })?;
    if !absolute.is_dir() {
        return Err(CliError::WorkspaceNotADirectory { path: path.to_owned() });
    }
    absolute.into_os_string().into_string().map_err(|path| CliError::WorkspaceNotUtf8 { path: path.into() })
}

/// The workspace of a speculation that is kept. What a link leads to that took its place later is another folder.
pub(crate) fn of_record(record: &Record) -> Result<String, CliError> {
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
