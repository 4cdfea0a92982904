//! Conversations on disk, so that a later chat can go on with one.
//!
//! ```text
//! STATE/sessions/NAME-HASH/ID.jsonl   one conversation: lines as `headstart_agent::Session` reads them, only ever added
//! STATE/sessions/NAME-HASH/workspace  the path of the workspace, for whoever lists those of all
//! ```
//!
//! NAME and HASH are of the workspace, as for ledgers. Whoever talks in a session holds a lock on its file, so that no two write into one. A line
//! that a killed process left without an end is cut off by whoever goes on.

use std::fs::{self, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use headstart_agent::{Session, SessionStore, StoreError};
use headstart_providers::Scrubber;
use serde_json::Value;

use crate::error::CliError;
use crate::file_lock::FileLock;
use crate::store::create_private_folder;
use crate::workspace::state_name;

/// The oldest go when there are more, or when all of them take more room.
const MOST: usize = 100;
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// So many prompts of earlier chats can be called back.
const PROMPTS: usize = 200;
/// So much of earlier chats is read for them.
const PROMPT_BYTES: u64 = 8 * 1024 * 1024;

/// The file that says of which workspace a folder is.
const WORKSPACE: &str = "workspace";

/// The sessions of one workspace.
#[derive(Debug, Clone)]
pub(crate) struct Sessions {
    folder: PathBuf,
    workspace: String,
}

/// One of them, without what was said.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) session: Result<Session, CliError>,
    modified: std::time::SystemTime,
    bytes: u64,
}

impl Sessions {
    /// Touches no file.
    pub(crate) fn of(state: &Path, workspace: &str) -> Self {
        let folder = state.join("sessions").join(state_name(Path::new(workspace)));
        Self { folder, workspace: workspace.to_owned() }
    }

    /// Those of all workspaces of which it is known where they are.
    #[cfg(feature = "acp")]
    pub(crate) fn everywhere(state: &Path) -> Result<Vec<Self>, CliError> {
        let all = state.join("sessions");
        let entries = match fs::read_dir(&all) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(CliError::io("read", &all)(error)),
        };
        let of_folder = |entry: fs::DirEntry| {
            let workspace = fs::read_to_string(entry.path().join(WORKSPACE)).ok()?;
            // A folder that says it is another's is nobody's.
            Some(Self::of(state, &workspace)).filter(|sessions| sessions.folder == entry.path())
        };
        Ok(entries.flatten().filter_map(of_folder).collect())
    }

    /// Where they are from.
    #[cfg(feature = "acp")]
    pub(crate) fn workspace(&self) -> &str {
        &self.workspace
    }

    /// Whether there is one of exactly this id.
    #[cfg(feature = "acp")]
    pub(crate) fn has(&self, id: &str) -> bool {
        let is_name = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_name && self.file(id).is_file()
    }

    /// Copies one as it is now, under a new id.
    #[cfg(feature = "acp")]
    pub(crate) fn fork(&self, id: &str, new: &str) -> Result<(), CliError> {
        let file = self.file(id);
        let bytes = fs::read(&file).map_err(CliError::io("read", &file))?;
        // What cannot be read is not copied.
        Session::read(&bytes).map_err(|source| CliError::Session { file, source })?;
        let text = String::from_utf8_lossy(&bytes);
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let lines = whole.lines().map(|line| match serde_json::from_str::<Value>(line) {
            Ok(mut first) if first["type"] == "session" => {
                first["id"] = new.into();
                format!("{first}\n")
            }
            _ => format!("{line}\n"),
        });
        self.begin(new, Scrubber::default()).write(&lines.collect::<String>())
    }

    /// All, the one that was written last first.
    pub(crate) fn list(&self) -> Result<Vec<Listed>, CliError> {
        let listed = self.files()?.into_iter().map(|(id, modified, bytes)| {
            let session = self.read(&id);
            Listed { id, session, modified, bytes }
        });
        Ok(listed.collect())
    }

    /// The id that this is the beginning of.
    pub(crate) fn find(&self, text: &str) -> Result<String, CliError> {
        let mut fitting: Vec<_> = self.files()?.into_iter().map(|(id, ..)| id).collect();
        fitting.retain(|id| !text.is_empty() && id.starts_with(text));
        match fitting.as_slice() {
            [id] => Ok(id.clone()),
            [] => Err(CliError::NoSession { id: text.to_owned(), folder: self.folder.clone() }),
            _ => Err(CliError::AmbiguousId { prefix: text.to_owned(), candidates: fitting }),
        }
    }

    /// The one that was written last.
    pub(crate) fn newest(&self) -> Result<Option<String>, CliError> {
        Ok(self.files()?.into_iter().next().map(|(id, ..)| id))
    }

    pub(crate) fn read(&self, id: &str) -> Result<Session, CliError> {
        let file = self.file(id);
        let bytes = fs::read(&file).map_err(CliError::io("read", &file))?;
        Session::read(&bytes).map_err(|source| CliError::Session { file, source })
    }

    /// Whether nobody talks in one.
    pub(crate) fn is_free(&self, id: &str) -> bool {
        FileLock::is_free(&self.file(id)).unwrap_or(true)
    }

    /// Goes on with one. Until the value is dropped nobody else does.
    pub(crate) fn resume(&self, id: &str, scrubber: Scrubber) -> Result<(Session, OpenSession), CliError> {
        let file = self.file(id);
        let mut open = lock(&file, OpenOptions::new().read(true).append(true), id)?;
        let mut bytes = Vec::new();
        open.read_to_end(&mut bytes).map_err(CliError::io("read", &file))?;
        let session =
            Session::read(&bytes).map_err(|source| CliError::Session { file: file.clone(), source })?;
        let whole = bytes.len() - session.torn;
        open.set_len(whole as u64).map_err(CliError::io("write", &file))?;
        let open = OpenSession { path: file, open: Mutex::new(Some(open)), scrubber, folder: self.clone() };
        Ok((session, open))
    }

    /// Where a new one will be. There is a file once there is something to write.
    pub(crate) fn begin(&self, id: &str, scrubber: Scrubber) -> OpenSession {
        OpenSession { path: self.file(id), open: Mutex::new(None), scrubber, folder: self.clone() }
    }

    /// Gives one another title.
    pub(crate) fn rename(&self, id: &str, title: &str) -> Result<(), CliError> {
        // What cannot be read is not written to.
        let (_, open) = self.resume(id, Scrubber::default())?;
        open.write(&Session::title_line(title))
    }

    /// Removes one that nobody talks in.
    pub(crate) fn remove(&self, id: &str) -> Result<(), CliError> {
        let file = self.file(id);
        let _lock = lock(&file, OpenOptions::new().read(true), id)?;
        fs::remove_file(&file).map_err(CliError::io("remove", &file))
    }

    /// The prompts of earlier chats, oldest first. What cannot be read has none.
    pub(crate) fn prompts(&self) -> Vec<String> {
        let (mut prompts, mut bytes) = (Vec::new(), 0);
        for (id, _, size) in self.files().unwrap_or_default() {
            bytes += size;
            if PROMPTS <= prompts.len() || PROMPT_BYTES < bytes {
                break;
            }
            let read = self.read(&id).map(|session| session.prompts).unwrap_or_default();
            prompts.extend(read.into_iter().rev());
        }
        prompts.truncate(PROMPTS);
        prompts.reverse();
        prompts.dedup();
        prompts
    }

    /// Id, time of the last write and size of each, the newest first. No folder: none.
    fn files(&self) -> Result<Vec<(String, std::time::SystemTime, u64)>, CliError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(CliError::io("read", &self.folder)(error)),
        };
        let mut files: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                let id = name.to_str()?.strip_suffix(".jsonl")?.to_owned();
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((id, metadata.modified().ok()?, metadata.len()))
            })
            .collect();
        files.sort_by(|a, b| (b.1, &b.0).cmp(&(a.1, &a.0)));
        Ok(files)
    }

    /// Makes room for one more: the oldest that nobody talks in go.
    fn sweep(&self) -> Result<(), CliError> {
        let mut bytes = 0;
        for (place, (id, _, size)) in self.files()?.into_iter().enumerate() {
            bytes += size;
            if MOST <= place + 1 || MOST_BYTES < bytes {
                match self.remove(&id) {
                    Ok(()) | Err(CliError::SessionOpen { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.jsonl"))
    }
}

impl Listed {
    /// How long ago it was written last, in milliseconds.
    pub(crate) fn age_ms(&self) -> u64 {
        self.modified.elapsed().map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
    }

    /// When it was written last, in milliseconds since the Unix epoch.
    #[cfg(feature = "acp")]
    pub(crate) fn modified_ms(&self) -> u64 {
        let since = self.modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A session in which this process talks.
pub(crate) struct OpenSession {
    path: PathBuf,
    open: Mutex<Option<FileLock>>,
    scrubber: Scrubber,
    folder: Sessions,
}

impl OpenSession {
    fn write(&self, lines: &str) -> Result<(), CliError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_none() {
            let folder = &self.folder.folder;
            folder.parent().map_or(Ok(()), create_private_folder)?;
            fs::create_dir_all(folder).map_err(CliError::io("create", folder))?;
            let named = folder.join(WORKSPACE);
            fs::write(&named, &self.folder.workspace).map_err(CliError::io("write", &named))?;
            self.folder.sweep()?;
            let id = self.path.file_stem().unwrap_or_default().to_string_lossy();
            *open =
                Some(lock(&self.path, OpenOptions::new().append(true).create_new(true).mode(0o600), &id)?);
        }
        let Some(file) = open.as_mut() else { return Ok(()) };
        let wrong = CliError::io("write", &self.path);
        let end = file.seek(SeekFrom::End(0)).map_err(CliError::io("write", &self.path))?;
        let lines: String = lines.lines().map(|line| scrubbed(line, &self.scrubber)).collect();
        file.write_all(lines.as_bytes()).or_else(|error| file.set_len(end).and(Err(error))).map_err(wrong)
    }
}

/// A line without secrets. What a model wants back as it was, and an image, hold none that could be read, and are not touched.
fn scrubbed(line: &str, scrubber: &Scrubber) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(line) else { return String::new() };
    let parts = value.pointer_mut("/message/parts").and_then(Value::as_array_mut).map(std::mem::take);
    let mut value = scrubber.value(&value);
    if let Some(parts) = parts {
        let is_whole = |part: &Value| part["type"] == "opaque" || part["type"] == "image";
        let parts = parts.into_iter().map(|part| if is_whole(&part) { part } else { scrubber.value(&part) });
        value["message"]["parts"] = parts.collect();
    }
    format!("{value}\n")
}

#[async_trait]
impl SessionStore for OpenSession {
    async fn append(&self, lines: String) -> Result<(), StoreError> {
        self.write(&lines)
            .map_err(|error| format!("this conversation is not kept from here on: {error}").into())
    }
}

fn lock(file: &Path, options: &OpenOptions, id: &str) -> Result<FileLock, CliError> {
    let open = options.open(file).map_err(CliError::io("open", file))?;
    FileLock::exclusive(open).map_err(|error| match error {
        TryLockError::WouldBlock => CliError::SessionOpen { id: id.to_owned() },
        TryLockError::Error(error) => CliError::io("lock", file)(error),
    })
}

#[cfg(test)]
mod tests;
