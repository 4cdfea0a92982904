//! A disk as a value: the content of a folder, and the effect of recorded system calls on it, each of which is applied
//! wholly, in part or not at all.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use headstart_overlay_fs::ContentHash;

/// The number of a file, folder or link. The numbers of inodes cannot be used, because they change when a disk is made.
pub(crate) type Id = usize;

/// The inode numbers that a journal uses for files.
pub(crate) type Inodes = Rc<HashMap<u64, Id>>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Thing {
    File { content: Vec<u8>, mode: u32, modified: (i64, i64) },
    Folder { names: BTreeMap<Vec<u8>, Id>, mode: u32 },
    Link(Vec<u8>),
}

/// A folder with everything in it, and with things that have no name, or no longer have one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    pub(crate) things: Vec<Thing>,
    /// For each file with a journal, what its inode numbers mean.
    pub(crate) inodes: HashMap<Id, Inodes>,
}

/// The id of the folder itself.
pub(crate) const TOP: Id = 0;

impl Disk {
    /// Reads a folder. Also returns what the numbers of its inodes mean.
    pub(crate) fn read(folder: &Path) -> (Self, HashMap<u64, Id>) {
        let mut disk = Self::default();
        let mut numbers = HashMap::new();
        disk.read_thing(folder, &mut numbers);
        let known = Rc::new(numbers.clone());
        for id in 0..disk.things.len() {
            if is_journal(&disk.things[id]) {
                disk.inodes.insert(id, known.clone());
            }
        }
        (disk, numbers)
    }

    fn read_thing(&mut self, at: &Path, numbers: &mut HashMap<u64, Id>) -> Id {
        let found = fs::symlink_metadata(at).unwrap();
        if let Some(id) = numbers.get(&found.ino()) {
            return *id;
        }
        let id = self.things.len();
        numbers.insert(found.ino(), id);
        self.things.push(Thing::Link(Vec::new()));
        let mode = found.mode() & 0o7777;
        self.things[id] = if found.is_dir() {
            let mut names = BTreeMap::new();
            for entry in fs::read_dir(at).unwrap().map(Result::unwrap) {
                let name = entry.file_name().into_vec();
                names.insert(name, self.read_thing(&entry.path(), numbers));
            }
            Thing::Folder { names, mode }
        } else if found.is_symlink() {
            Thing::Link(fs::read_link(at).unwrap().into_os_string().into_vec())
        } else {
            let modified = (found.mtime(), found.mtime_nsec());
            Thing::File { content: fs::read(at).unwrap(), mode, modified }
        };
        id
    }

    pub(crate) fn names(&self, folder: Id) -> &BTreeMap<Vec<u8>, Id> {
        match &self.things[folder] {
            Thing::Folder { names, .. } => names,
            other => panic!("no folder: {other:?}"),
        }
    }

    pub(crate) fn names_mut(&mut self, folder: Id) -> &mut BTreeMap<Vec<u8>, Id> {
        match &mut self.things[folder] {
            Thing::Folder { names, .. } => names,
            other => panic!("no folder: {other:?}"),
        }
    }

    /// A digest that is equal for equal trees. Things without a name do not count.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.digest_of(TOP, &mut hasher);
        hasher.finish()
    }

    fn digest_of(&self, id: Id, hasher: &mut DefaultHasher) {
        id.hash(hasher);
        let thing = &self.things[id];
        if let Thing::Folder { names, mode } = thing {
            mode.hash(hasher);
            names.len().hash(hasher);
            for (name, id) in names {
                name.hash(hasher);
                self.digest_of(*id, hasher);
            }
        } else {
            thing.hash(hasher);
        }
    }

    /// Whether a staging folder somewhere in the tree has a file of this name.
    pub(crate) fn has_mark(&self, name: &str) -> bool {
        let mut todo = vec![TOP];
        while let Some(folder) = todo.pop() {
            for (of, id) in self.names(folder) {
                if !matches!(self.things[*id], Thing::Folder { .. }) {
                    continue;
                }
                if of.starts_with(b".headstart-staging-") && self.names(*id).contains_key(name.as_bytes()) {
                    return true;
                }
                todo.push(*id);
            }
        }
        false
    }

    /// Makes the folder hold exactly this. The folder `workspace` in it keeps its inode, as a real workspace does.
    pub(crate) fn make(&self, folder: &Path) {
        let mut made = HashMap::new();
        let mut files = Vec::new();
        for (name, id) in self.names(TOP) {
            let at = folder.join(std::ffi::OsStr::from_bytes(name));
            clear(&at, name == b"workspace");
            self.make_thing(*id, &at, &mut made, &mut files);
        }
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if !self.names(TOP).contains_key(entry.file_name().as_bytes()) {
                clear(&entry.path(), false);
            }
        }
        for (id, at) in files {
            self.fill(id, &at, &made);
        }
    }

    fn make_thing(
        &self,
        id: Id,
        at: &Path,
        made: &mut HashMap<Id, (u64, std::path::PathBuf)>,
        files: &mut Vec<(Id, std::path::PathBuf)>,
    ) {
        if let Some((_, first)) = made.get(&id) {
            fs::hard_link(first, at).unwrap();
            return;
        }
        match &self.things[id] {
            Thing::Folder { names, mode } => {
                if !at.exists() {
                    fs::DirBuilder::new().mode(0o700).create(at).unwrap();
                }
                for (name, id) in names {
                    self.make_thing(*id, &at.join(std::ffi::OsStr::from_bytes(name)), made, files);
                }
                fs::set_permissions(at, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Thing::Link(target) => symlink(std::ffi::OsStr::from_bytes(target), at).unwrap(),
            Thing::File { .. } => {
                fs::write(at, "").unwrap();
                files.push((id, at.to_owned()));
            }
        }
        made.insert(id, (fs::symlink_metadata(at).unwrap().ino(), at.to_owned()));
    }

    fn fill(&self, id: Id, at: &Path, made: &HashMap<Id, (u64, std::path::PathBuf)>) {
        let Thing::File { content, mode, modified } = &self.things[id] else { return };
        let journal = self.inodes.get(&id).and_then(|known| with_inodes(content, known, made));
        fs::write(at, journal.as_ref().unwrap_or(content)).unwrap();
        fs::set_permissions(at, fs::Permissions::from_mode(*mode)).unwrap();
        let (seconds, part) = (modified.0.unsigned_abs(), modified.1.unsigned_abs());
        let modified = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(part);
        fs::File::options().write(true).open(at).unwrap().set_modified(modified).unwrap();
    }
}

fn clear(at: &Path, keep: bool) {
    match fs::symlink_metadata(at) {
        Err(_) => {}
        Ok(found) if found.is_dir() => {
            if keep {
                for entry in fs::read_dir(at).unwrap() {
                    clear(&entry.unwrap().path(), false);
                }
            } else {
                fs::remove_dir_all(at).unwrap();
            }
        }
        Ok(_) => fs::remove_file(at).unwrap(),
    }
}

const INODE: &str = "\"inode\":";
const FOLDER: &str = "\"folder\":\"";

pub(crate) fn is_journal(thing: &Thing) -> bool {
    matches!(thing, Thing::File { content, .. } if content.starts_with(b"{\"format\":"))
}

/// The journal with the inode numbers that its files have now. `None` if the journal is not whole.
fn with_inodes(
    content: &[u8],
    known: &HashMap<u64, Id>,
    made: &HashMap<Id, (u64, std::path::PathBuf)>,
) -> Option<Vec<u8>> {
    let (body, hash) = std::str::from_utf8(content).ok()?.strip_suffix('\n')?.rsplit_once('\n')?;
    if hash != ContentHash::of(body.as_bytes()).to_string() {
        return None;
    }
    let mut parts = body.split(INODE);
    let mut now = parts.next()?.to_owned();
    for part in parts {
        let end = part.find(|one: char| !one.is_ascii_digit())?;
        let number = known.get(&part[..end].parse().ok()?).and_then(|id| made.get(id));
        // If the file no longer exists, the number is 0, which no inode has.
        now.push_str(INODE);
        now.push_str(&number.map_or(0, |(number, _)| *number).to_string());
        now.push_str(&part[end..]);
    }
    let now = with_folder(now, known, made)?;
    let hash = ContentHash::of(now.as_bytes());
    Some(format!("{now}\n{hash}\n").into_bytes())
}

/// The journal with the current identity of the folder that it was written in, which is its inode and the time when it
/// was made.
fn with_folder(
    journal: String,
    known: &HashMap<u64, Id>,
    made: &HashMap<Id, (u64, std::path::PathBuf)>,
) -> Option<String> {
    let Some((before, rest)) = journal.split_once(FOLDER) else { return Some(journal) };
    let (identity, behind) = rest.split_once('"')?;
    let inode = u64::from_str_radix(identity.split('-').next()?, 16).ok()?;
    let Some((inode, at)) = known.get(&inode).and_then(|id| made.get(id)) else { return Some(journal) };
    let born = fs::metadata(at).ok()?.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let identity = format!("{inode:x}-{:x}-{:x}", born.as_secs(), born.subsec_nanos());
    Some(format!("{before}{FOLDER}{identity}\"{behind}"))
}
