//! What a copy holds, as a file of edits that only grows: whoever has read it knows the copy without a look at its files.
//!
//! Edits are written before they are made, and the digest of the result after. Edits without a digest were made by a process that died: their
//! paths are looked at. After a restart of the machine all are, for what was written last may not have reached the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use headstart_overlay_fs::ContentHash;
use headstart_toolbox::exchange::{Manifest, TreeEdit, line_of};
use serde::{Deserialize, Serialize};

use super::disk::Disk;

const LOG: &str = "log.jsonl";
/// A log with so many more edits than there are paths is written anew.
const MOST_MORE: usize = 50_000;

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Line {
    /// The run of the machine in which the rest was written.
    Boot { id: String },
    /// What is about to be done.
    Edits { edits: Vec<TreeEdit> },
    /// It was done.
    Done { digest: ContentHash },
}

/// What is known of a copy.
pub(super) struct Log {
    folder: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) digest: ContentHash,
    /// The file that was read, and how much of it.
    inode: u64,
    read: u64,
    edits: usize,
}

impl Log {
    pub(super) fn new(folder: &Path) -> Self {
        let manifest = Manifest::default();
        Self { folder: folder.to_owned(), digest: manifest.digest(), manifest, inode: 0, read: 0, edits: 0 }
    }

    /// Reads what other processes wrote since. The copy has to be locked.
    pub(super) fn refresh(&mut self, disk: &mut Disk) -> io::Result<()> {
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

    /// Takes over lines of the log; `None` if they do not tell what the copy holds.
    fn take(&mut self, bytes: &[u8]) -> Option<()> {
        let whole = bytes.strip_suffix(b"\n")?;
        let mut open = false;
        for line in whole.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line).ok()? {
                Line::Boot { id } => (id == boot()).then_some(())?,
                Line::Edits { edits } => {
                    self.manifest.apply(&edits);
                    self.edits += edits.len();
                    open = true;
                }
                Line::Done { digest } => {
                    self.digest = digest;
                    open = false;
                }
            }
        }
        self.read += bytes.len() as u64;
        (!open && self.digest == self.manifest.digest()).then_some(())
    }

    /// Looks at all files of the copy, and begins another log.
    fn rebuild(&mut self, disk: &mut Disk) -> io::Result<()> {
        self.manifest = disk.look()?;
        self.begin()
    }

    /// Notes what is about to be done.
    pub(super) fn begin_edits(&mut self, edits: &[TreeEdit]) -> io::Result<()> {
        self.edits += edits.len();
        self.append(&Line::Edits { edits: edits.to_vec() })
    }

    /// Notes that it was done.
    pub(super) fn done(&mut self, manifest: Manifest, digest: ContentHash) -> io::Result<()> {
        (self.manifest, self.digest) = (manifest, digest);
        if self.manifest.len() * 2 + MOST_MORE < self.edits {
            self.begin()
        } else {
            self.append(&Line::Done { digest })
        }
    }

    /// Forgets what is known: the next look is at the files.
    pub(super) fn forget(&mut self) {
        let _ = fs::remove_file(self.folder.join(LOG));
        *self = Self::new(&self.folder);
    }

    fn begin(&mut self) -> io::Result<()> {
        self.digest = self.manifest.digest();
        let edits = self.manifest.edits_since(&Manifest::default());
        self.edits = edits.len();
        let mut new = tempfile::Builder::new().prefix(".log-").tempfile_in(&self.folder)?;
        let lines = [Line::Boot { id: boot() }, Line::Edits { edits }, Line::Done { digest: self.digest }];
        for line in &lines {
            new.write_all(&line_of(line))?;
        }
        let found = new.as_file().metadata()?;
        (self.inode, self.read) = (found.ino(), found.len());
        new.persist(self.folder.join(LOG)).map(drop).map_err(|error| error.error)
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let bytes = line_of(line);
        OpenOptions::new().append(true).open(self.folder.join(LOG))?.write_all(&bytes)?;
        self.read += bytes.len() as u64;
        Ok(())
    }
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
