//! The content of a copy, as a file of edits to which lines are only appended. A process that has read it knows the
//! copy without reading the copy's files.
//!
//! Edits are written before they are made, and the hash of the result afterwards. Edits without a hash were made by a
//! process that died, so their paths are read from the disk. After a restart of the machine all paths are read, because
//! the last lines may not have reached the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use headstart_overlay_fs::ContentHash;
use headstart_toolbox::exchange::{Manifest, TreeEdit, encode_line};
use serde::{Deserialize, Serialize};

use super::disk::CopyFolder;

const LOG: &str = "log.jsonl";
/// How many more edits than paths the log may have before it is written anew.
const MAX_MORE: usize = 50_000;

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum LogEntry {
    /// The run of the machine during which the following lines were written.
    Boot { id: String },
    /// Edits that are about to be made.
    Edits { edits: Vec<TreeEdit> },
    /// The edits were made.
    Done { digest: ContentHash },
}

/// The known content of a copy.
pub(super) struct EditLog {
    folder: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) digest: ContentHash,
    /// The inode of the file that was read, and how many bytes of it were read.
    inode: u64,
    read: u64,
    edits: usize,
}

impl EditLog {
    pub(super) fn new(folder: &Path) -> Self {
        let manifest = Manifest::default();
        Self { folder: folder.to_owned(), digest: manifest.digest(), manifest, inode: 0, read: 0, edits: 0 }
    }

    /// Reads what other processes have written since. The copy must be locked.
    pub(super) fn refresh(&mut self, disk: &mut CopyFolder) -> io::Result<()> {
        let path = self.folder.join(LOG);
        let Ok(mut file) = File::open(&path) else { return self.rebuild(disk) };
        let found = file.metadata()?;
        if found.ino() != self.inode || found.len() < self.read {
            *self = Self { inode: found.ino(), ..Self::new(&self.folder) };
        }
        if found.len() == self.read {
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        if self.take(&bytes).is_some() { Ok(()) } else { self.rebuild(disk) }
    }

    /// Applies lines of the log; `None` if they do not determine what the copy contains.
    fn take(&mut self, bytes: &[u8]) -> Option<()> {
        let whole = bytes.strip_suffix(b"\n")?;
        let mut open = false;
        for line in whole.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line).ok()? {
                LogEntry::Boot { id } => (id == boot()).then_some(())?,
                LogEntry::Edits { edits } => {
                    self.manifest.apply(&edits);
                    self.edits += edits.len();
                    open = true;
                }
                LogEntry::Done { digest } => {
                    self.digest = digest;
                    open = false;
                }
            }
        }
        self.read += bytes.len() as u64;
        (!open && self.digest == self.manifest.digest()).then_some(())
    }

    /// Reads all files of the copy, and begins a new log.
    fn rebuild(&mut self, disk: &mut CopyFolder) -> io::Result<()> {
        self.manifest = disk.read_manifest()?;
        self.begin()
    }

    /// Notes edits that are about to be made.
    pub(super) fn begin_edits(&mut self, edits: &[TreeEdit]) -> io::Result<()> {
        self.edits += edits.len();
        self.append(&LogEntry::Edits { edits: edits.to_vec() })
    }

    /// Notes that the edits were made.
    pub(super) fn done(&mut self, manifest: Manifest, digest: ContentHash) -> io::Result<()> {
        (self.manifest, self.digest) = (manifest, digest);
        if self.manifest.len() * 2 + MAX_MORE < self.edits {
            self.begin()
        } else {
            self.append(&LogEntry::Done { digest })
        }
    }

    /// Discards the log, so that the files are read next time.
    pub(super) fn forget(&mut self) {
        let _ = fs::remove_file(self.folder.join(LOG));
        *self = Self::new(&self.folder);
    }

    fn begin(&mut self) -> io::Result<()> {
        self.digest = self.manifest.digest();
        let edits = self.manifest.edits_since(&Manifest::default());
        self.edits = edits.len();
        let mut new = tempfile::Builder::new().prefix(".log-").tempfile_in(&self.folder)?;
        let lines = [
            LogEntry::Boot { id: boot() },
            LogEntry::Edits { edits },
            LogEntry::Done { digest: self.digest },
        ];
        for line in &lines {
            new.write_all(&encode_line(line))?;
        }
        let found = new.as_file().metadata()?;
        (self.inode, self.read) = (found.ino(), found.len());
        new.persist(self.folder.join(LOG)).map(drop).map_err(|error| error.error)
    }

    fn append(&mut self, line: &LogEntry) -> io::Result<()> {
        let bytes = encode_line(line);
        OpenOptions::new().append(true).open(self.folder.join(LOG))?.write_all(&bytes)?;
        self.read += bytes.len() as u64;
        Ok(())
    }
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
