#[cfg(unix)]
use std::fs::TryLockError;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use crate::ports::{SessionStore, StoreError};
use crate::session::{Session, SessionError};

/// How many conversations are kept, and how many bytes of them; beyond that the oldest are removed.
const MOST: usize = 100;
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// How many prompts of earlier conversations can be called back.
const PROMPTS: usize = 2_000;
/// How much of earlier conversations is read for them, in bytes.
const PROMPT_BYTES: u64 = 8 * 1024 * 1024;
/// The file with the path of the workspace that a folder is about.
const WORKSPACE: &str = "workspace";

/// Conversations in a folder, so that they can be continued later.
///
/// ```text
/// FOLDER/ID.jsonl   one conversation: lines as [`Session::read`] reads them, only ever added
/// FOLDER/workspace  the path of the workspace, where it is given, for whoever lists those of all
/// ```
///
/// A process that writes a conversation holds a lock on its file, so that no two write into one. A line that a killed
/// process left without an end is cut off when the conversation is continued. At most 100 conversations and 256 MiB are
/// kept: the oldest are removed, except those that are open.
#[derive(Debug, Clone)]
pub struct Sessions {
    folder: PathBuf,
    workspace: Option<String>,
}

/// One conversation of a list, without what was said.
#[derive(Debug)]
pub struct ListedSession {
    /// Its id.
    pub id: String,
    /// What can be read of it, or why nothing can.
    pub session: Result<Session, SessionsError>,
    /// When it was written last.
    pub modified: SystemTime,
    /// How large it is.
    pub bytes: u64,
}

/// Why an operation on kept conversations failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionsError {
    /// A file or folder cannot be used.
    #[error("cannot {does} {}", path.display())]
    File {
        /// The operation: `read`, `write`.
        does: &'static str,
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The content of a file is not a conversation.
    #[error("{} cannot be gone on with", path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with its content.
        source: SessionError,
    },
    /// The conversation is open in another place.
    #[error("the conversation {id} is open elsewhere")]
    Open {
        /// Its id.
        id: String,
    },
    /// No conversation has an id that begins with this text.
    #[error("there is no conversation {id:?} in {}", folder.display())]
    Unknown {
        /// The text that was looked for.
        id: String,
        /// The folder in which it was looked for.
        folder: PathBuf,
    },
    /// Several conversations have an id that begins with this text.
    #[error("{id:?} is the beginning of several ids")]
    Ambiguous {
        /// The text that was looked for.
        id: String,
        /// The ids that begin with it.
        candidates: Vec<String>,
    },
}

impl SessionsError {
    fn file(does: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { does, path, source }
    }
}

impl Sessions {
    /// The conversations of a folder, which need not exist. Touches no file.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), workspace: None }
    }

    /// Sets the workspace that these conversations are about; it is written into the folder with the first
    /// conversation.
    #[must_use]
    pub fn about(self, workspace: &str) -> Self {
        Self { workspace: Some(workspace.to_owned()), ..self }
    }

    /// The workspace that a folder is about, if that was written down.
    pub fn workspace_of(folder: &Path) -> Option<String> {
        fs::read_to_string(folder.join(WORKSPACE)).ok()
    }

    /// The folder of the conversations.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether there is a conversation with exactly this id.
    pub fn has(&self, id: &str) -> bool {
        let is_name = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_name && self.file(id).is_file()
    }

    /// All conversations in which something was said, the last written first.
    pub fn list(&self) -> Result<Vec<ListedSession>, SessionsError> {
        let listed = self.files()?.into_iter().map(|(id, modified, bytes)| {
            let session = self.read(&id);
            ListedSession { id, session, modified, bytes }
        });
        Ok(listed.filter(ListedSession::has_words).collect())
    }

    /// The one id that begins with this text.
    pub fn find(&self, text: &str) -> Result<String, SessionsError> {
        let mut fitting: Vec<_> = self.files()?.into_iter().map(|(id, ..)| id).collect();
        fitting.retain(|id| !text.is_empty() && id.starts_with(text));
        match fitting.as_slice() {
            [id] => Ok(id.clone()),
            [] => Err(SessionsError::Unknown { id: text.to_owned(), folder: self.folder.clone() }),
            _ => Err(SessionsError::Ambiguous { id: text.to_owned(), candidates: fitting }),
        }
    }

    /// The id of the conversation that was written last.
    pub fn newest(&self) -> Result<Option<String>, SessionsError> {
        let mut ids = self.files()?.into_iter().map(|(id, ..)| id);
        Ok(ids.find(|id| !self.read(id).is_ok_and(|session| session.prompts.is_empty())))
    }

    /// Reads a conversation as far as it was kept. It may be open in another place, because reading needs no lock.
    pub fn read(&self, id: &str) -> Result<Session, SessionsError> {
        let path = self.file(id);
        let bytes = fs::read(&path).map_err(SessionsError::file("read", &path))?;
        Session::read(&bytes).map_err(|source| SessionsError::Unreadable { path, source })
    }

    /// Whether a conversation is open nowhere.
    pub fn is_free(&self, id: &str) -> bool {
        !matches!(lock(&self.file(id), OpenOptions::new().read(true), id), Err(SessionsError::Open { .. }))
    }

    /// Continues a conversation. Nobody else can until the value is dropped.
    pub fn resume(&self, id: &str) -> Result<(Session, OpenSession), SessionsError> {
        let path = self.file(id);
        let mut open = lock(&path, for_end(&mut OpenOptions::new()).read(true), id)?;
        let mut bytes = Vec::new();
        open.0.read_to_end(&mut bytes).map_err(SessionsError::file("read", &path))?;
        let session = Session::read(&bytes)
            .map_err(|source| SessionsError::Unreadable { path: path.clone(), source })?;
        let whole = bytes.len() - session.torn;
        open.0.set_len(whole as u64).map_err(SessionsError::file("write", &path))?;
        Ok((session, OpenSession { path, open: Mutex::new(Some(open)), sessions: self.clone() }))
    }

    /// Prepares a new conversation. Its file is created once there is something to write.
    pub fn begin(&self, id: &str) -> OpenSession {
        OpenSession { path: self.file(id), open: Mutex::new(None), sessions: self.clone() }
    }

    /// Copies a conversation as it is now, under a new id.
    pub fn fork(&self, id: &str, new: &str) -> Result<(), SessionsError> {
        let path = self.file(id);
        let bytes = fs::read(&path).map_err(SessionsError::file("read", &path))?;
        // What cannot be read is not copied.
        Session::read(&bytes).map_err(|source| SessionsError::Unreadable { path, source })?;
        let text = String::from_utf8_lossy(&bytes);
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let lines = whole.lines().map(|line| match serde_json::from_str::<serde_json::Value>(line) {
            Ok(mut first) if first["type"] == "session" => {
                first["id"] = new.into();
                format!("{first}\n")
            }
            _ => format!("{line}\n"),
        });
        self.begin(new).write(&lines.collect::<String>())
    }

    /// Removes a conversation that is not open.
    pub fn remove(&self, id: &str) -> Result<(), SessionsError> {
        let path = self.file(id);
        let _lock = lock(&path, OpenOptions::new().read(true), id)?;
        fs::remove_file(&path).map_err(SessionsError::file("remove", &path))
    }

    /// The prompts of earlier conversations, oldest first. A conversation that cannot be read has none.
    pub fn prompts(&self) -> Vec<String> {
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

    /// Id, time of the last write and size of each conversation, the newest first; empty if there is no folder.
    fn files(&self) -> Result<Vec<(String, SystemTime, u64)>, SessionsError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(SessionsError::file("read", &self.folder)(error)),
        };
        let mut files: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                let id = name.to_str()?.strip_suffix(".jsonl")?.to_owned();
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                // Nothing could be written to an empty one: the disk was full, or the process died.
                if metadata.len() == 0 {
                    return None;
                }
                Some((id, metadata.modified().ok()?, metadata.len()))
            })
            .collect();
        files.sort_by(|a, b| (b.1, &b.0).cmp(&(a.1, &a.0)));
        Ok(files)
    }

    /// Makes room for one more by removing the oldest conversations that are not open.
    fn sweep(&self) -> Result<(), SessionsError> {
        let mut bytes = 0;
        for (place, (id, _, size)) in self.files()?.into_iter().enumerate() {
            bytes += size;
            if MOST <= place + 1 || MOST_BYTES < bytes {
                match self.remove(&id) {
                    Ok(()) | Err(SessionsError::Open { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// The file of a conversation.
    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.jsonl"))
    }
}

impl ListedSession {
    /// Whether something was said in it. Its first prompt may have got no answer.
    fn has_words(&self) -> bool {
        !self.session.as_ref().is_ok_and(|session| session.prompts.is_empty())
    }

    /// When it was written last, in milliseconds since the Unix epoch.
    pub fn modified_ms(&self) -> u64 {
        let since = self.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A conversation that this process has open.
#[derive(Debug)]
pub struct OpenSession {
    path: PathBuf,
    open: Mutex<Option<Locked>>,
    sessions: Sessions,
}

impl OpenSession {
    /// Appends all the lines, or nothing.
    pub fn write(&self, lines: &str) -> Result<(), SessionsError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *open {
            Some(open) => &mut open.0,
            None => &mut open.insert(self.create()?).0,
        };
        let end = file.seek(SeekFrom::End(0)).map_err(SessionsError::file("write", &self.path))?;
        file.write_all(lines.as_bytes())
            .or_else(|error| file.set_len(end).and(Err(error)))
            .map_err(SessionsError::file("write", &self.path))?;
        if Session::ends_turn(lines) {
            sync_beside(file);
        }
        Ok(())
    }

    /// Creates the file, which only its user can read, in a folder with room for it.
    fn create(&self) -> Result<Locked, SessionsError> {
        let Sessions { folder, workspace } = &self.sessions;
        let (mut private, mut options) = (DirBuilder::new(), OpenOptions::new());
        #[cfg(unix)]
        {
            std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        private.recursive(true).create(folder).map_err(SessionsError::file("create", folder))?;
        if let Some(workspace) = workspace {
            let named = folder.join(WORKSPACE);
            fs::write(&named, workspace).map_err(SessionsError::file("write", &named))?;
        }
        self.sessions.sweep()?;
        let id = self.path.file_stem().unwrap_or_default().to_string_lossy();
        lock(&self.path, for_end(&mut options).create_new(true), &id)
    }
}

#[async_trait]
impl SessionStore for OpenSession {
    async fn append(&self, lines: String) -> Result<(), StoreError> {
        Ok(self.write(&lines)?)
    }
}

/// Has the disk keep a file from here on, also if the power fails. Nobody waits for it, because that can take longer than
/// an answer's last words; where it fails, the file is as safe as without it.
fn sync_beside(file: &File) {
    if let Ok(file) = file.try_clone() {
        let sync = move || file.sync_all();
        let _ = std::thread::Builder::new().name("sync".to_owned()).spawn(sync);
    }
}

/// An open file and a lock on it, which ends with this value or with the process.
#[derive(Debug)]
struct Locked(File);

#[cfg(unix)]
impl Drop for Locked {
    fn drop(&mut self) {
        // Closing the file is not enough, because a child that another thread has just forked shares the file until it
        // executes another program. If unlocking fails, the lock still ends at that moment.
        let _ = self.0.unlock();
    }
}

/// Opens a file for writing at its end.
fn for_end(options: &mut OpenOptions) -> &mut OpenOptions {
    // On Windows a file that can only be appended to cannot be shortened, and whoever holds the lock writes alone.
    if cfg!(windows) { options.write(true) } else { options.append(true) }
}

#[cfg(unix)]
fn lock(path: &Path, options: &mut OpenOptions, id: &str) -> Result<Locked, SessionsError> {
    let open = options.open(path).map_err(SessionsError::file("open", path))?;
    match open.try_lock() {
        Ok(()) => Ok(Locked(open)),
        Err(TryLockError::WouldBlock) => Err(SessionsError::Open { id: id.to_owned() }),
        Err(TryLockError::Error(error)) => Err(SessionsError::file("lock", path)(error)),
    }
}

/// The lock is that nobody else may have the file open for writing: on Windows a lock on its bytes would keep others
/// from reading them.
#[cfg(windows)]
fn lock(path: &Path, options: &mut OpenOptions, id: &str) -> Result<Locked, SessionsError> {
    /// That others may read and remove the file.
    const FILE_SHARE_READ_AND_DELETE: u32 = 1 | 4;
    /// The system's error for a file that somebody else has open in a way that excludes this one.
    const ERROR_SHARING_VIOLATION: i32 = 32;
    std::os::windows::fs::OpenOptionsExt::share_mode(options, FILE_SHARE_READ_AND_DELETE);
    options.open(path).map(Locked).map_err(|error| match error.raw_os_error() {
        Some(ERROR_SHARING_VIOLATION) => SessionsError::Open { id: id.to_owned() },
        _ => SessionsError::file("open", path)(error),
    })
}

#[cfg(test)]
mod tests;
