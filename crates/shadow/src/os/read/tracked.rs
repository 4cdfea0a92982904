//! Which paths git tracks, from the index of a repository.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use headstart_overlay_fs::Content;
use headstart_workspace_path::WorkspacePath;

/// A longer index is not read.
const LONGEST: u64 = 256 << 20;
/// No path is longer.
const LONGEST_LINE: u64 = 8 << 10;
/// The length of an object's name in bytes: for SHA-1 and for SHA-256.
const NAMES: [usize; 2] = [20, 32];
/// The length of what the index notes of a file's metadata.
const STAT: usize = 40;
const EXTENDED: u16 = 0x4000;
const LENGTH: u16 = 0x0fff;

/// The tracked paths.
pub(in crate::os) enum Tracked {
    /// None, or there is no repository.
    Nothing,
    /// These, sorted by the bytes of their paths.
    Paths(Vec<TrackedPath>),
    /// The index cannot be read.
    Unknown,
}

/// One entry of the index.
pub(in crate::os) struct TrackedPath {
    path: Vec<u8>,
    /// The name of the object.
    object: Vec<u8>,
}

impl Tracked {
    pub(in crate::os) fn of(workspace: &Path) -> Self {
        let folder = workspace.join(".git");
        // In a linked worktree it is a file that says where the folder is.
        let text = File::open(&folder).and_then(|file| std::io::read_to_string(file.take(LONGEST_LINE)));
        match text.ok().as_deref().and_then(|text| text.strip_prefix("gitdir: ")) {
            Some(elsewhere) => Self::read(&workspace.join(elsewhere.trim_end()).join("index")),
            None => Self::read(&folder.join("index")),
        }
    }

    fn read(index: &Path) -> Self {
        let file = match File::open(index) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::Nothing,
            Err(_) => return Self::Unknown,
        };
        let mut bytes = Vec::new();
        match file.take(LONGEST + 1).read_to_end(&mut bytes) {
            Ok(_) if bytes.len() as u64 <= LONGEST => Self::parse(&bytes),
            _ => Self::Unknown,
        }
    }

    fn parse(bytes: &[u8]) -> Self {
        match NAMES.iter().find_map(|name| paths(bytes, *name)) {
            Some(paths) if paths.is_empty() => Self::Nothing,
            Some(mut paths) => {
                paths.sort_by(|one, other| one.path.cmp(&other.path));
                Self::Paths(paths)
            }
            None => Self::Unknown,
        }
    }

    /// Whether the path, or something in it, is tracked.
    pub(in crate::os) fn has(&self, path: &WorkspacePath) -> bool {
        self.entry(path).is_some() || self.has_below(path)
    }

    /// Whether git has exactly this content for the path, so that it can be got back.
    pub(super) fn has_content(&self, path: &WorkspacePath, content: &Content) -> bool {
        let Some(entry) = self.entry(path) else { return false };
        let mut id = String::new();
        for byte in &entry.object {
            write!(id, "{byte:02x}").expect("works because a string takes all");
        }
        id == content.git_object_id()
    }

    /// Whether something in this folder is tracked.
    pub(super) fn has_below(&self, folder: &WorkspacePath) -> bool {
        let Self::Paths(paths) = self else { return false };
        let start = [folder.as_bytes(), b"/"].concat();
        let at = paths.partition_point(|entry| entry.path.as_slice() < start.as_slice());
        // A submodule is one entry with the folder's own name.
        paths.get(at).is_some_and(|entry| entry.path.starts_with(&start)) || self.entry(folder).is_some()
    }

    fn entry(&self, path: &WorkspacePath) -> Option<&TrackedPath> {
        let Self::Paths(paths) = self else { return None };
        let at = paths.binary_search_by(|entry| entry.path.as_slice().cmp(path.as_bytes())).ok()?;
        paths.get(at)
    }
}

/// All paths of an index with object names of this length; `None` if their length differs, or if some entries are in
/// another file.
fn paths(bytes: &[u8], object: usize) -> Option<Vec<TrackedPath>> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let count = number(8)?;
    let mut at = 12;
    let mut paths: Vec<TrackedPath> = Vec::new();
    for _ in 0..count {
        let start = at;
        let name = bytes.get(start + STAT..start + STAT + object)?.to_vec();
        at += STAT + object;
        let flags = u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
        at += if flags & EXTENDED == 0 { 2 } else { 4 };
        let mut path = Vec::new();
        if version == 4 {
            let (dropped, after) = offset(bytes, at)?;
            let before = paths.last().map_or(&[][..], |entry| entry.path.as_slice());
            path.extend_from_slice(before.get(..before.len().checked_sub(dropped)?)?);
            at = after;
        }
        let rest = bytes.get(at..)?.split(|byte| *byte == 0).next()?;
        path.extend_from_slice(rest);
        if path.is_empty() || path.len().min(LENGTH.into()) != usize::from(flags & LENGTH) {
            return None;
        }
        at += rest.len() + 1;
        if version < 4 {
            // One to eight zeros fill the entry up to a multiple of eight.
            at = start + (at - 1 - start + 8) / 8 * 8;
        }
        paths.push(TrackedPath { path, object: name });
    }
    // Behind the entries come extensions and the checksum. An extension `link` says that most entries are in another
    // file.
    let end = bytes.len().checked_sub(object)?;
    while at + 8 <= end {
        if bytes.get(at..at + 4)? == b"link" {
            return None;
        }
        at = (at + 8).checked_add(number(at + 4)? as usize)?;
    }
    (at == end).then_some(paths)
}

/// Reads a number as git writes offsets: seven bits in each byte, and each further byte adds one.
fn offset(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, words: &[&str]) {
        let status = Command::new("git").current_dir(folder).args(words).status();
        assert!(status.unwrap_or_else(|error| panic!("this test needs git: {error}")).success(), "{words:?}");
    }

    #[test]
    fn every_form_of_index_that_git_writes_is_read() {
        for (format, version) in
            [("sha1", "2"), ("sha1", "3"), ("sha1", "4"), ("sha256", "2"), ("sha256", "4")]
        {
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path();
            git(at, &["init", "-q", &format!("--object-format={format}")]);
            assert!(matches!(Tracked::read(&at.join(".git/index")), Tracked::Nothing));
            let names = ["a", "build/deep/x.js", "build-tools/y", "lib/dist.txt", &"n".repeat(200), "zü"];
            for name in names {
                std::fs::create_dir_all(at.join(name).parent().unwrap()).unwrap();
                std::fs::write(at.join(name), name).unwrap();
            }
            git(at, &["add", "."]);
            if version == "3" {
                // Git only uses this version if an entry has a flag that needs it.
                std::fs::write(at.join("later"), "").unwrap();
                git(at, &["add", "-N", "later"]);
            } else {
                git(at, &["update-index", "--index-version", version]);
            }
            let tracked = Tracked::read(&at.join(".git/index"));
            let Tracked::Paths(paths) = &tracked else { panic!("{format}, version {version}") };
            for name in names {
                assert!(paths.iter().any(|entry| entry.path == name.as_bytes()), "{name}");
                let path = WorkspacePath::parse(name).unwrap();
                assert_eq!(tracked.has_content(&path, &name.into()), format == "sha1", "{name}");
                assert!(!tracked.has_content(&path, &"another".into()));
            }
            let has = |path: &str| tracked.has_below(&WorkspacePath::parse(path).unwrap());
            assert!(has("build") && has("build/deep") && has("lib"));
            assert!(matches!(Tracked::of(at), Tracked::Paths(_)));
            assert!(!has("dist") && !has("lib/dist") && !has("bui") && !has("zz"));
        }
    }

    #[test]
    fn a_linked_worktree_has_an_index_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (main, linked) = (folder.path().join("main"), folder.path().join("linked"));
        std::fs::create_dir_all(main.join("build")).unwrap();
        std::fs::write(main.join("build/a"), "").unwrap();
        git(&main, &["init", "-q"]);
        git(&main, &["add", "."]);
        git(&main, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a"]);
        git(&main, &["worktree", "add", "-q", "../linked"]);
        assert!(linked.join(".git").is_file());
        assert!(Tracked::of(&linked).has_below(&WorkspacePath::parse("build").unwrap()));
    }

    #[test]
    fn an_index_that_is_elsewhere_or_damaged_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        git(at, &["init", "-q"]);
        std::fs::write(at.join("a"), "").unwrap();
        git(at, &["add", "."]);
        let whole = std::fs::read(at.join(".git/index")).unwrap();
        for end in 0..whole.len() {
            assert!(matches!(Tracked::parse(&whole[..end]), Tracked::Unknown), "{end}");
        }
        git(at, &["update-index", "--split-index"]);
        assert!(matches!(Tracked::read(&at.join(".git/index")), Tracked::Unknown));
        assert!(matches!(Tracked::read(at), Tracked::Unknown));
    }
}
