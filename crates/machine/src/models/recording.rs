use std::fs::{self, File, Permissions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headstart_providers::{Recorder, Recording};

use crate::error::CliError;
use crate::system::with_permissions;

/// Where `--record` writes what the models answer.
pub(super) struct RecordingFile {
    place: RecordingPath,
    pub(super) recorder: Arc<Recorder>,
}

/// A file that may be written. It is checked before anything is recorded, because a recording that cannot be written
/// would still cost its price.
pub(super) struct RecordingPath {
    file: PathBuf,
    /// The permissions of the recording that it replaces.
    permissions: Option<Permissions>,
}

impl RecordingPath {
    /// Finds the place. Only a recording or an empty file may be replaced.
    pub(super) fn find(named: &Path) -> Result<Self, CliError> {
        let refused = |problem: String| CliError::RecordingPlace { file: named.to_owned(), problem };
        let Ok(link) = fs::symlink_metadata(named) else {
            let place = Self { file: named.to_owned(), permissions: None };
            if !place.folder().is_dir() {
                return Err(refused("its folder does not exist; make it, or name another file".to_owned()));
            }
            return place.temporary().map(|_| place).map_err(|error| refused(error.to_string()));
        };
        let file = match named.canonicalize() {
            Ok(file) => file,
            Err(_) if link.is_symlink() => return Err(refused("it is a link that leads nowhere".to_owned())),
            Err(error) => return Err(refused(error.to_string())),
        };
        let metadata = fs::metadata(&file).map_err(|error| refused(error.to_string()))?;
        if !metadata.is_file() {
            return Err(refused("it is no regular file; name another one".to_owned()));
        }
        let is_ours = metadata.len() == 0
            || fs::read_to_string(&file).is_ok_and(|text| Recording::parse(&text).is_ok());
        if !is_ours {
            let problem = "it exists and is no recording; move it away, or name another file";
            return Err(refused(problem.to_owned()));
        }
        let place = Self { permissions: Some(metadata.permissions()), file };
        let writable = File::options().write(true).open(&place.file).and_then(|_| place.temporary());
        writable.map(|_| place).map_err(|error| refused(error.to_string()))
    }

    fn folder(&self) -> &Path {
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }

    /// A file beside it, which is removed when it is dropped.
    fn temporary(&self) -> std::io::Result<tempfile::NamedTempFile> {
        // The user's umask decides who may read the file.
        let mut temporary = with_permissions(tempfile::Builder::new(), 0o666);
        if let Some(permissions) = self.permissions.clone().filter(|_| cfg!(unix)) {
            temporary.permissions(permissions);
        }
        temporary.prefix(".headstart-").tempfile_in(self.folder())
    }

    fn write(&self, text: &str) -> std::io::Result<()> {
        let mut temporary = self.temporary()?;
        temporary.write_all(text.as_bytes())?;
        temporary.as_file().sync_all()?;
        temporary.persist(&self.file)?;
        Ok(())
    }
}

impl RecordingFile {
    pub(super) fn new(place: RecordingPath, recorder: Arc<Recorder>) -> Self {
        Self { place, recorder }
    }

    /// Writes the recording, completely or not at all. If nothing was recorded, nothing is replaced.
    pub(super) fn save(&self) -> Result<(), CliError> {
        let recording = self.recorder.recording();
        if recording.turns.is_empty() && recording.suggestions.is_empty() {
            return Ok(());
        }
        let mut text = serde_json::to_string_pretty(&recording)
            .expect("works because a recording holds nothing but text, numbers and JSON");
        text.push('\n');
        self.place.write(&text).map_err(CliError::io("write", &self.place.file))
    }
}
