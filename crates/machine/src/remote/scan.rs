//! Finds out what is sent of a workspace: the files that git does not ignore, without git's own folder and without what
//! rules close.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

use headstart_overlay_fs::{ContentHash, WorkspacePath, file_times};
use headstart_tool_gate::{DenyRule, DenyRules};
use headstart_toolbox::exchange::{Manifest, ManifestEntry};
use ignore::{DirEntry, WalkState};
use serde::{Deserialize, Serialize};

use crate::system::{FileNumbers as _, path_in, read_plain, workspace_path};
use crate::workspace::unignored_but;

/// The most bytes of a file. A longer one is not sent.
const MAX_LENGTH: u64 = 256 << 20;
/// The most paths of a workspace. One with more is not sent.
const MAX_PATHS: usize = 1_000_000;
/// The most paths that are named among those that are not sent.
const MAX_NAMED: usize = 20;
/// A file that changed so recently, in nanoseconds, may change again without getting a later time.
const RACY: i64 = 2_000_000_000;

/// The paths that must not leave this machine.
#[derive(Clone)]
pub(super) struct ScanRules {
    deny: DenyRules,
    /// Closes files whose names say that they hold a secret, even if the user allows to read such files here.
    secrets: DenyRules,
}

/// The result of a scan.
#[derive(Clone, Default)]
pub(super) struct WorkspaceScan {
    pub(super) manifest: Manifest,
    /// Stamps that show whether a file is unchanged.
    pub(super) stamps: BTreeMap<WorkspacePath, FileStamp>,
    /// What is not sent although git does not ignore it, and why.
    pub(super) left_out: Vec<String>,
}

/// Identifies a state of a file: its device, inode, length and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileStamp(u64, u64, u64, i64, i64);

impl ScanRules {
    pub(super) fn new(deny: &DenyRules) -> Self {
        Self { deny: deny.clone(), secrets: DenyRules::default() }
    }

    pub(super) fn close(&self, path: &WorkspacePath) -> bool {
        self.deny.matching(path).is_some()
            || self.secrets.secret(path).is_some()
            || path.names().any(|name| name.eq_ignore_ascii_case(b".git"))
    }

    fn patterns(&self) -> &[DenyRule] {
        self.deny.rules()
    }
}

impl PartialEq for ScanRules {
    fn eq(&self, other: &Self) -> bool {
        self.patterns() == other.patterns()
    }
}

impl WorkspaceScan {
    /// The paths of the files with these contents; `None` if one of the contents is missing.
    pub(super) fn files(&self, hashes: &[ContentHash]) -> Option<Vec<(ContentHash, WorkspacePath)>> {
        let mut paths = BTreeMap::new();
        for (path, standing) in self.manifest.iter() {
            if let ManifestEntry::File { hash, .. } = standing {
                paths.insert(*hash, path.clone());
            }
        }
        hashes.iter().map(|hash| Some((*hash, paths.get(hash)?.clone()))).collect()
    }

    /// Makes the next scan read this file, whatever its times are.
    pub(super) fn forget(&mut self, path: &WorkspacePath) {
        self.stamps.remove(path);
    }
}

/// Scans the workspace. Files that are unchanged since `before` are not read again.
pub(super) fn scan(
    workspace: &Path,
    rules: &ScanRules,
    before: &WorkspaceScan,
) -> Result<WorkspaceScan, String> {
    let began = file_times::since_now_ns();
    let (root, by) = (workspace.to_owned(), rules.clone());
    let is_closed = move |path: &Path| relative(&root, path).is_none_or(|path| by.close(&path));
    let (found, all) = channel();
    let mut walk = unignored_but(workspace, is_closed);
    walk.threads(std::thread::available_parallelism().map_or(1, |count| count.get().min(4)));
    walk.build_parallel().run(|| {
        let found: Sender<ScanEntry> = found.clone();
        Box::new(move |entry| {
            let Some(scanned) = scan_entry(workspace, before, entry) else { return WalkState::Continue };
            if found.send(scanned).is_ok() { WalkState::Continue } else { WalkState::Quit }
        })
    });
    drop(found);
    let mut scan = WorkspaceScan::default();
    let mut left_out = 0_usize;
    for one in all {
        match one {
            ScanEntry::At(path, standing, stamp) => {
                if let Some(stamp) = stamp.filter(|stamp| stamp.4.saturating_add(RACY) < began) {
                    scan.stamps.insert(path.clone(), stamp);
                }
                scan.manifest.insert(path, standing);
            }
            ScanEntry::LeftOut(what) => {
                left_out += 1;
                if left_out <= MAX_NAMED {
                    scan.left_out.push(what);
                }
            }
        }
        if MAX_PATHS < scan.manifest.len() {
            return Err(format!("the workspace has more than {MAX_PATHS} files that git does not ignore"));
        }
    }
    scan.left_out.sort();
    scan.manifest.check()?;
    Ok(scan)
}

enum ScanEntry {
    At(WorkspacePath, ManifestEntry, Option<FileStamp>),
    LeftOut(String),
}

fn scan_entry(
    workspace: &Path,
    before: &WorkspaceScan,
    entry: Result<DirEntry, ignore::Error>,
) -> Option<ScanEntry> {
    let entry = match entry {
        Ok(entry) => entry,
        Err(error) => return Some(ScanEntry::LeftOut(error.to_string())),
    };
    let path = relative(workspace, entry.path()).filter(|path| !path.is_root())?;
    let left_out = |why: &str| Some(ScanEntry::LeftOut(format!("{path}: {why}")));
    let Ok(found) = entry.path().symlink_metadata() else { return None };
    if found.is_dir() {
        return Some(ScanEntry::At(path, ManifestEntry::Folder, None));
    }
    if found.is_symlink() {
        let target = fs::read_link(entry.path()).ok()?.as_os_str().as_encoded_bytes().into();
        return Some(ScanEntry::At(path, ManifestEntry::Link { target }, None));
    }
    if !found.is_file() {
        return None;
    }
    if MAX_LENGTH < found.len() {
        return left_out(&format!("it has more than {} MiB", MAX_LENGTH >> 20));
    }
    let executable = found.mode() & 0o100 != 0;
    let stamp = stamp(&found);
    if before.stamps.get(&path) == Some(&stamp)
        && let Some(ManifestEntry::File { hash, len, .. }) = before.manifest.get(&path)
    {
        return Some(ScanEntry::At(
            path,
            ManifestEntry::File { hash: *hash, len: *len, executable },
            Some(stamp),
        ));
    }
    match read(workspace, &path) {
        Ok(bytes) => {
            let (hash, len) = (ContentHash::of(&bytes), bytes.len() as u64);
            // The content may be newer than the stamp. Then the file's stamp will differ at the next scan.
            Some(ScanEntry::At(path, ManifestEntry::File { hash, len, executable }, Some(stamp)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => left_out(&error.to_string()),
    }
}

/// The content of a file. A link in its place is an error.
pub(super) fn read(workspace: &Path, path: &WorkspacePath) -> io::Result<Vec<u8>> {
    read_plain(&path_in(workspace, path)?, MAX_LENGTH)
}

fn relative(workspace: &Path, path: &Path) -> Option<WorkspacePath> {
    workspace_path(path.strip_prefix(workspace).ok()?)
}

fn stamp(found: &fs::Metadata) -> FileStamp {
    let time = |seconds: i64, more: i64| seconds.saturating_mul(1_000_000_000).saturating_add(more);
    let modified = time(found.mtime(), found.mtime_nsec());
    FileStamp(found.dev(), found.ino(), found.len(), modified, time(found.ctime(), found.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(scan: &WorkspaceScan) -> Vec<String> {
        scan.manifest.iter().map(|(path, _)| path.to_string()).collect()
    }

    #[test]
    fn what_is_closed_ignored_or_gits_own_is_not_found() {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            ".git/config",
            "sub/.git/HEAD",
            ".gitignore",
            "a.txt",
            "out/x",
            "keys/deep/k",
            ".env",
            "sub/id_rsa",
            "sub/b.txt",
        ] {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "out\n").unwrap();
        }
        std::os::unix::fs::symlink("/etc/shadow", folder.path().join("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("fifo"), rustix::fs::Mode::RUSR).unwrap();
        let deny = DenyRules::from_patterns(["keys"]).unwrap().with_secrets_open();
        let rules = ScanRules::new(&deny);
        let first = scan(folder.path(), &rules, &WorkspaceScan::default()).unwrap();
        assert_eq!(paths(&first), [".gitignore", "a.txt", "link", "sub", "sub/b.txt"]);
        assert!(first.stamps.is_empty(), "files of this moment are read again");
        let target = first.manifest.get(&WorkspacePath::parse("link").unwrap()).unwrap();
        assert_eq!(*target, ManifestEntry::Link { target: "/etc/shadow".into() });
        // The content of a closed file cannot be found by its hash either.
        assert!(first.files(&[ContentHash::of(b"TOKEN")]).is_none());
        assert!(read(folder.path(), &WorkspacePath::parse("link").unwrap()).is_err());
    }

    #[test]
    fn an_edit_is_found_and_what_stayed_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        fs::write(&file, "one").unwrap();
        let rules = ScanRules::new(&DenyRules::default());
        let mut first = scan(folder.path(), &rules, &WorkspaceScan::default()).unwrap();
        let path = WorkspacePath::parse("a.txt").unwrap();
        // Makes the file look as if it had not changed for a long time.
        first.stamps.insert(path.clone(), stamp(&file.symlink_metadata().unwrap()));
        let known = ManifestEntry::File { hash: ContentHash::of(b"known"), len: 3, executable: false };
        first.manifest.insert(path.clone(), known.clone());
        assert_eq!(scan(folder.path(), &rules, &first).unwrap().manifest.get(&path), Some(&known));
        fs::write(&file, "two").unwrap();
        let Some(ManifestEntry::File { hash, .. }) =
            scan(folder.path(), &rules, &first).unwrap().manifest.get(&path).cloned()
        else {
            panic!("it is a file");
        };
        assert_eq!(hash, ContentHash::of(b"two"));
    }
}
