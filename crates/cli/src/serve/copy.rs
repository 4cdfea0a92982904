//! The copy of another machine's workspace, below its views: `STATE/copies/NAME/tree`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headstart_machine::clock;
use headstart_machine::file_lock::FileLock;
use headstart_machine::workspace::state_name;
use headstart_overlay_fs::{Content, ContentHash, WorkspacePath, file_times};
use headstart_shadow::remove_folder;
use headstart_toolbox::exchange::{ClientHello, Manifest, ManifestEntry, TreeEdit};

use super::disk::{CopyFolder, write_new};
use super::log::EditLog;
use super::stored::{self, COPIES, CopyInfo, INFO, read_info};

const TREE: &str = "tree";
const INCOMING: &str = "incoming";
const LOCK: &str = "lock";

/// A copy. Other processes may have it open too.
pub(super) struct WorkspaceCopy {
    folder: PathBuf,
    disk: CopyFolder,
    log: EditLog,
    /// Keeps the copy from being removed.
    _used: FileLock,
    lock: File,
}

/// The right to change the copy.
pub(super) struct LockedCopy<'a> {
    copy: &'a mut WorkspaceCopy,
    /// The folder for contents that are being added.
    incoming: OwnedFd,
}

impl WorkspaceCopy {
    /// The copy for the client. If all copies together have more than `most` bytes, those that were last used the
    /// longest ago are removed.
    pub(super) fn open(state: &Path, hello: &ClientHello, most: u64) -> io::Result<Self> {
        let copies = state.join(COPIES);
        headstart_machine::store::create_private_folder(&copies).map_err(io::Error::other)?;
        // The name ends in a hash, so that no client can name the copy of another one, or a folder elsewhere.
        let key = format!("{}\0{}", hello.client, hello.workspace);
        let hash = ContentHash::of(key.as_bytes());
        let name = state_name(Path::new(&hello.workspace));
        let folder = copies.join(format!("{name}-{hash}"));
        let used = stored::make_used(&folder)?;
        fs::create_dir_all(folder.join(TREE))?;
        let lock = File::create(folder.join(LOCK))?;
        let copy = Self {
            disk: CopyFolder::open(&folder.join(TREE))?,
            log: EditLog::new(&folder),
            folder,
            _used: used,
            lock,
        };
        copy.update_info(&hello.workspace, None)?;
        remove_oldest(&copies, most);
        Ok(copy)
    }

    /// The folder that is shown as the workspace.
    pub(super) fn tree(&self) -> PathBuf {
        self.folder.join(TREE)
    }

    /// Locks the copy, so that no other process changes it.
    pub(super) fn lock(&mut self) -> io::Result<LockedCopy<'_>> {
        self.lock.lock()?;
        match self.begin() {
            Ok(incoming) => Ok(LockedCopy { copy: self, incoming }),
            Err(error) => {
                self.lock.unlock()?;
                Err(error)
            }
        }
    }

    /// Reads what other processes did, and makes an empty folder for contents. The copy must be locked.
    fn begin(&mut self) -> io::Result<OwnedFd> {
        let incoming = self.folder.join(INCOMING);
        if incoming.exists() {
            remove_folder(&incoming)?;
        }
        fs::create_dir(&incoming)?;
        self.log.refresh(&mut self.disk)?;
        Ok(File::open(&incoming)?.into())
    }

    /// Updates the description, which says how large the copy is.
    fn update_info(&self, workspace: &str, bytes: Option<u64>) -> io::Result<()> {
        let known: Option<CopyInfo> = read_info(&self.folder);
        let bytes = bytes.or(known.map(|known| known.bytes)).unwrap_or_default();
        let info = CopyInfo { workspace: workspace.to_owned(), used: clock::unix_ms(), bytes };
        let mut file = tempfile::Builder::new().prefix(".about-").tempfile_in(&self.folder)?;
        serde_json::to_writer(&mut file, &info)?;
        file.persist(self.folder.join(INFO)).map(drop).map_err(|error| error.error)
    }
}

impl LockedCopy<'_> {
    /// The hash of the copy's content.
    pub(super) fn digest(&self) -> ContentHash {
        self.copy.log.digest
    }

    /// The content of the copy after these edits.
    pub(super) fn after(&self, since: Option<ContentHash>, edits: &[TreeEdit]) -> Option<Manifest> {
        let mut target = match since {
            None => Manifest::default(),
            Some(since) if since == self.digest() => self.copy.log.manifest.clone(),
            Some(_) => return None,
        };
        target.apply(edits);
        Some(target)
    }

    /// The contents that the target needs and that the copy does not have anywhere. Those that it has are set aside.
    pub(super) fn missing(&mut self, target: &Manifest) -> io::Result<BTreeSet<ContentHash>> {
        let wanted = files(&target.edits_since(&self.copy.log.manifest));
        let mut there: BTreeMap<ContentHash, WorkspacePath> = BTreeMap::new();
        for (path, standing) in self.copy.log.manifest.iter() {
            if let ManifestEntry::File { hash, .. } = standing
                && wanted.contains_key(hash)
            {
                there.entry(*hash).or_insert_with(|| path.clone());
            }
        }
        let mut missing = BTreeSet::new();
        for hash in wanted.into_keys() {
            let existing = there
                .get(&hash)
                .and_then(|path| self.read(path).ok())
                .filter(|existing| existing.hash() == hash);
            match existing {
                Some(content) => self.keep(&content)?,
                None => drop(missing.insert(hash)),
            }
        }
        Ok(missing)
    }

    /// These contents, as far as the copy has them.
    pub(super) fn content(&mut self, hashes: &BTreeSet<ContentHash>) -> BTreeMap<ContentHash, Content> {
        let paths: BTreeMap<_, _> = self
            .copy
            .log
            .manifest
            .iter()
            .filter_map(|(path, standing)| match standing {
                ManifestEntry::File { hash, .. } if hashes.contains(hash) => Some((*hash, path.clone())),
                _ => None,
            })
            .collect();
        let read = paths.into_iter().filter_map(|(hash, path)| Some((hash, self.read(&path).ok()?)));
        read.collect::<Vec<_>>().into_iter().filter(|(hash, content)| content.hash() == *hash).collect()
    }

    /// Sets a content aside for [`apply`](Self::apply).
    pub(super) fn keep(&self, content: &Content) -> io::Result<()> {
        write_new(&self.incoming, &content.hash().to_string(), content)
    }

    /// Changes the copy to `target`. All contents that this needs must have been set aside.
    pub(super) fn apply(&mut self, workspace: &str, target: Manifest) -> io::Result<()> {
        let edits = target.edits_since(&self.copy.log.manifest);
        if edits.is_empty() {
            return Ok(());
        }
        self.copy.log.begin_edits(&edits)?;
        let mut uses = files(&edits);
        let applied = edits.iter().try_for_each(|edit| self.edit(edit, &mut uses));
        if let Err(error) = applied {
            // The files are read to find out how much of this was done.
            self.copy.log.forget();
            return Err(error);
        }
        let (bytes, digest) = (target.bytes(), target.digest());
        self.copy.log.done(target, digest)?;
        // Waits, so that the times of files distinguish what begins now from this change.
        let done = file_times::until_now_ns();
        while file_times::since_now_ns() <= done {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.copy.update_info(workspace, Some(bytes))
    }

    fn edit(&mut self, edit: &TreeEdit, uses: &mut BTreeMap<ContentHash, usize>) -> io::Result<()> {
        let TreeEdit { path, now } = edit;
        let before = self.copy.log.manifest.get(path);
        let is_folder = |standing: Option<&ManifestEntry>| standing == Some(&ManifestEntry::Folder);
        let replaces = before.is_some() && (is_folder(before) || is_folder(now.as_ref()));
        let is_link = matches!(now, Some(ManifestEntry::Link { .. }));
        let disk = &mut self.copy.disk;
        if now.is_none() || replaces || is_link {
            disk.remove(path)?;
        }
        match now {
            None => Ok(()),
            Some(ManifestEntry::Folder) => disk.make_folder(path),
            Some(ManifestEntry::Link { target }) => disk.make_link(path, target),
            Some(ManifestEntry::File { hash, executable, .. }) => {
                let left = uses.get_mut(hash).expect("works because all files of the edits were counted");
                *left -= 1;
                let mut name = hash.to_string();
                if 0 < *left {
                    let content = fs::read(self.copy.folder.join(INCOMING).join(&name))?;
                    name.push_str("-again");
                    write_new(&self.incoming, &name, &content)?;
                }
                disk.put(&self.incoming, &name, path, *executable)
            }
        }
    }

    fn read(&mut self, path: &WorkspacePath) -> io::Result<Content> {
        let mut bytes = Vec::new();
        self.copy.disk.file(path)?.read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

impl Drop for LockedCopy<'_> {
    fn drop(&mut self) {
        let _ = self.copy.lock.unlock();
    }
}

/// The contents of these edits, and how often each is used.
fn files(edits: &[TreeEdit]) -> BTreeMap<ContentHash, usize> {
    let mut files = BTreeMap::new();
    for edit in edits {
        if let Some(ManifestEntry::File { hash, .. }) = &edit.now {
            *files.entry(*hash).or_default() += 1;
        }
    }
    files
}

/// Removes the copies that were last used the longest ago, until they have no more bytes than `most`.
fn remove_oldest(copies: &Path, most: u64) {
    let Some(state) = copies.parent() else { return };
    let all = stored::all(state);
    let mut bytes: u64 = all.iter().map(|(_, info)| info.bytes).sum();
    for (folder, info) in all {
        if most < bytes && stored::remove(&folder) {
            bytes -= info.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use headstart_toolbox::exchange::{VERSION, ViewLimits};

    use super::*;

    fn hello(client: &str) -> ClientHello {
        ClientHello {
            version: VERSION,
            program: String::new(),
            client: client.to_owned(),
            workspace: "/home/../../../../etc".to_owned(),
            limits: ViewLimits::default(),
            build: Vec::new(),
        }
    }

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).unwrap()
    }

    fn file(content: &str) -> ManifestEntry {
        ManifestEntry::File {
            hash: ContentHash::of(content.as_bytes()),
            len: content.len() as u64,
            executable: false,
        }
    }

    fn manifest(entries: &[(&str, ManifestEntry)]) -> Manifest {
        let mut manifest = Manifest::default();
        for (at, standing) in entries {
            manifest.insert(path(at), standing.clone());
        }
        manifest
    }

    /// Updates the copy to this state, with these contents for what it lacks.
    fn bring(copy: &mut WorkspaceCopy, target: &Manifest, contents: &[&str]) -> io::Result<usize> {
        let mut locked = copy.lock().unwrap();
        let missing = locked.missing(target).unwrap();
        let wanted = contents.iter().map(|content| Content::from(*content));
        for content in wanted.filter(|content| missing.contains(&content.hash())) {
            locked.keep(&content).unwrap();
        }
        locked.apply("/p", target.clone()).map(|()| missing.len())
    }

    #[test]
    fn a_copy_follows_every_change_of_its_workspace() {
        let state = tempfile::tempdir().unwrap();
        let mut copy = WorkspaceCopy::open(state.path(), &hello("a"), u64::MAX).unwrap();
        assert!(copy.tree().starts_with(state.path().join(COPIES)), "{:?}", copy.tree());
        let link = |target: &str| ManifestEntry::Link { target: target.into() };
        let steps: [&[(&str, ManifestEntry)]; 6] = [
            &[("a", ManifestEntry::Folder), ("a/b", file("one")), ("c", file("one")), ("l", link("/etc"))],
            &[("a", file("one")), ("c", ManifestEntry::Folder), ("c/d", file("two")), ("l", link("c"))],
            &[("a", link("c")), ("c", ManifestEntry::Folder), ("c/e", file("two")), ("l", file(""))],
            &[("l", ManifestEntry::Folder), ("l/x", ManifestEntry::Folder), ("l/x/y", file("two"))],
            &[],
            &[("l", file("one"))],
        ];
        let requested =
            steps.map(|entries| bring(&mut copy, &manifest(entries), &["one", "two", ""]).unwrap());
        assert_eq!(requested, [1, 1, 1, 0, 0, 1], "what another path has is not asked for");
        let mut disk = CopyFolder::open(&copy.tree()).unwrap();
        assert_eq!(disk.read_manifest().unwrap(), manifest(steps[5]));
        // Another process reads the log, and knows the same. A process that knows an older state catches up.
        let mut second = WorkspaceCopy::open(state.path(), &hello("a"), u64::MAX).unwrap();
        let digest = second.lock().unwrap().digest();
        assert_eq!(digest, manifest(steps[5]).digest());
        bring(&mut second, &manifest(steps[0]), &["one"]).unwrap();
        assert_eq!(copy.lock().unwrap().digest(), manifest(steps[0]).digest());
        let other = WorkspaceCopy::open(state.path(), &hello("b"), u64::MAX).unwrap();
        assert_ne!(other.tree(), copy.tree(), "nobody has the copy of another");
    }

    /// Processes that come at the same time wait for one another, also for one that removes the copy.
    #[test]
    fn many_may_open_and_change_a_copy_at_the_same_time() {
        let state = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let state = state.path();
                scope.spawn(move || {
                    for round in 0..20 {
                        let content = format!("{thread} in round {round}");
                        let target = manifest(&[("a", file(&content))]);
                        let mut copy = WorkspaceCopy::open(state, &hello("a"), u64::MAX).unwrap();
                        bring(&mut copy, &target, &[&content]).unwrap();
                        drop(copy);
                        if thread == 0 {
                            for (folder, _) in stored::all(state) {
                                stored::remove(&folder);
                            }
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_death_in_the_middle_is_found_on_the_disk() {
        let state = tempfile::tempdir().unwrap();
        let target = manifest(&[("a", file("one")), ("b", file("two"))]);
        let mut copy = WorkspaceCopy::open(state.path(), &hello("a"), u64::MAX).unwrap();
        bring(&mut copy, &target, &["one", "two"]).unwrap();
        let folder = copy.folder.clone();
        drop(copy);
        let log = fs::read(folder.join("log.jsonl")).unwrap();
        fs::write(folder.join("tree/b"), "half").unwrap();
        for end in (0..log.len()).rev().step_by(7) {
            fs::write(folder.join("log.jsonl"), &log[..end]).unwrap();
            let mut copy = WorkspaceCopy::open(state.path(), &hello("a"), u64::MAX).unwrap();
            let missing = copy.lock().unwrap().missing(&target).unwrap();
            assert_eq!(missing.len(), 1, "with {end} bytes of the log");
        }
    }

    /// Whatever is in the copy, nothing outside of it is written or read.
    #[test]
    fn no_link_in_a_copy_leads_out_of_it() {
        let state = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let mut copy = WorkspaceCopy::open(state.path(), &hello("a"), u64::MAX).unwrap();
        bring(&mut copy, &manifest(&[("d", ManifestEntry::Folder)]), &[]).unwrap();
        fs::remove_dir(copy.tree().join("d")).unwrap();
        std::os::unix::fs::symlink(outside.path(), copy.tree().join("d")).unwrap();
        let target = manifest(&[("d", ManifestEntry::Folder), ("d/new", file("one"))]);
        assert!(bring(&mut copy, &target, &["one"]).is_err());
        let mut disk = CopyFolder::open(&copy.tree()).unwrap();
        assert!(disk.file(&path("d/secret")).is_err() && disk.remove(&path("d/secret")).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        // After the failure the log agrees with the files on disk.
        assert_eq!(copy.lock().unwrap().digest(), disk.read_manifest().unwrap().digest());
    }

    #[test]
    fn the_longest_unused_copy_goes_where_there_is_no_room() {
        let state = tempfile::tempdir().unwrap();
        for client in ["a", "b"] {
            let mut copy = WorkspaceCopy::open(state.path(), &hello(client), 10).unwrap();
            bring(&mut copy, &manifest(&[("f", file("12345678"))]), &["12345678"]).unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
        let used = WorkspaceCopy::open(state.path(), &hello("b"), 10).unwrap();
        assert_eq!(stored::all(state.path()).len(), 1);
        assert!(used.tree().join("f").exists());
    }
}
