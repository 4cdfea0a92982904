//! What a repository keeps of files, beyond those of its work tree.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::undone::Surroundings;
use crate::{GitError, KeptFile};

/// The most files of which the content is read, and the most bytes of one and of all.
const MOST_CONTENTS: usize = 500;
const MOST_BYTES: u64 = 4 << 20;
const MOST_BYTES_OF_ALL: u64 = 32 << 20;
/// The same of contents that have no path.
const MOST_UNNAMED: usize = 2_000;
const MOST_BYTES_OF_UNNAMED: u64 = 256 << 10;
/// The most commits of which they are looked for.
const MOST_COMMITS: usize = 5_000;
/// The most objects of which all are listed, to find those that nothing names.
const MOST_OBJECTS: u64 = 3_000_000;

impl Surroundings {
    /// Whether a path for which `is_meant` is true is in a commit that is still stored, a stash or the index, or was and can
    /// still be reached. Paths are relative to the top of the work tree.
    pub fn keeps(&self, is_meant: impl Fn(&[u8]) -> bool) -> Result<bool, GitError> {
        let objects = self.objects(None)?.listed;
        Ok(named(&objects).any(|(_, path)| is_meant(path)))
    }

    /// What the index and the last few thousand commits hold of files for whose path `is_meant` is true, with the paths, and
    /// stored contents that have no path, because they were staged and never committed, for which `is_meant_content` is.
    /// Large files are left out, and so are more than some hundreds.
    pub fn contents(
        &self,
        is_meant: impl Fn(&[u8]) -> bool,
        is_meant_content: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<KeptFile>, GitError> {
        let objects = self.objects(Some(MOST_COMMITS))?;
        let meant = named(&objects.listed).filter(|(_, path)| is_meant(path));
        let mut files = self.small(&meant.take(MOST_CONTENTS).collect::<Vec<_>>(), MOST_BYTES)?;
        let unnamed = lines(&objects.unnamed).filter(|name| !name.is_empty()).map(|name| (name, &b""[..]));
        let unnamed = self.small(&unnamed.take(MOST_UNNAMED).collect::<Vec<_>>(), MOST_BYTES_OF_UNNAMED)?;
        files.extend(unnamed.into_iter().filter(|file| is_meant_content(&file.content)));
        Ok(files)
    }

    /// The contents of objects that are files of at most so many bytes, as long as all of them are not too many.
    fn small(&self, meant: &[(&[u8], &[u8])], most_bytes: u64) -> Result<Vec<KeptFile>, GitError> {
        if meant.is_empty() {
            return Ok(Vec::new());
        }
        let joined = |ids: &mut dyn Iterator<Item = &[u8]>| ids.collect::<Vec<_>>().join(&b'\n');
        let input = joined(&mut meant.iter().map(|(id, _)| *id));
        let check = ["cat-file", "--batch-check=%(objecttype) %(objectsize)"];
        let told = self.git.ask(&self.at, "cat-file", &check, &input)?;
        let mut left = MOST_BYTES_OF_ALL;
        let mut is_small = |line: &[u8]| {
            let size = line.strip_prefix(b"blob ").and_then(|size| str::from_utf8(size).ok()?.parse().ok());
            let rest = size.filter(|size| *size <= most_bytes).and_then(|size: u64| left.checked_sub(size));
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let small = meant.iter().zip(told.split(|byte| *byte == b'\n')).filter(|(_, line)| is_small(line));
        let small: Vec<_> = small.map(|(meant, _)| *meant).collect();
        let input = joined(&mut small.iter().map(|(id, _)| *id));
        let told = self.git.ask(&self.at, "cat-file", &["cat-file", "--batch=%(objectsize)"], &input)?;
        let mut rest = told.as_slice();
        let contents = small.iter().map_while(|(_, path)| {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let size: usize = str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
            let content = rest.get(end + 1..)?.get(..size)?;
            rest = rest.get(end + 1 + size..)?.strip_prefix(b"\n")?;
            Some(KeptFile { path: path.to_vec(), content: content.to_vec() })
        });
        Ok(contents.collect())
    }

    /// The paths of files in the last commit that hold a text.
    pub fn holding(&self, text: &[u8]) -> Result<Vec<Vec<u8>>, GitError> {
        let mut input = text.to_vec();
        input.push(b'\n');
        let words = ["grep", "-lzaF", "-f", "-", "HEAD"];
        // Git says nothing and fails if no file does.
        let told = self.git.try_ask(&self.at, "grep", &words, &input)?.unwrap_or_default();
        let paths = told.split(|byte| *byte == 0).filter_map(|line| line.strip_prefix(b"HEAD:"));
        Ok(paths.map(<[u8]>::to_vec).collect())
    }

    /// All objects that can be reached, and those in commits and trees that nothing names any more, as a commit that was
    /// given up leaves a tree.
    fn objects(&self, most_commits: Option<usize>) -> Result<StoredObjects, GitError> {
        let most = most_commits.map(|most| format!("--max-count={most}"));
        // What is not stored, as in a clone that left files out, nobody can find in it.
        let list = ["rev-list", "--objects", "--ignore-missing", "--missing=allow-any"];
        let reachable = ["--all", "--reflog", "--indexed-objects"];
        let words = list.into_iter().chain(reachable).chain(most.as_deref()).collect::<Vec<_>>();
        let mut objects = self.git.ask(&self.at, "rev-list", &words, b"")?;
        let stored = self.stored()?;
        let unnamed = |objects: &[u8], kind: &[u8]| {
            let reached: HashSet<_> = lines(objects).map(name_of).collect();
            let of_kind = lines(&stored).filter_map(|line| line.strip_prefix(kind));
            let unnamed =
                of_kind.filter(|name| !reached.contains(name)).take(most_commits.unwrap_or(usize::MAX));
            unnamed.collect::<Vec<_>>().join(&b'\n')
        };
        let commits = unnamed(&objects, b"commit ");
        if !commits.is_empty() {
            // Their parents are named, or are in the list as well.
            let words = list.into_iter().chain(["--no-walk", "--stdin"]).collect::<Vec<_>>();
            let more = self.git.ask(&self.at, "rev-list", &words, &commits)?;
            objects.extend(more);
        }
        let trees = unnamed(&objects, b"tree ");
        if !trees.is_empty() {
            let told = self.git.ask(
                &self.at,
                "cat-file",
                &["cat-file", "--batch=%(objectname) %(objectsize)"],
                &trees,
            )?;
            objects.extend(Trees::parse(&told).listed());
        }
        let unnamed = unnamed(&objects, b"blob ");
        Ok(StoredObjects { listed: objects, unnamed })
    }

    /// A line for each object that is stored, with its type and its name; in a very large repository only for those that
    /// are not packed.
    fn stored(&self) -> Result<Vec<u8>, GitError> {
        let told = self.git.ask(&self.at, "count-objects", &["count-objects", "-v"], b"")?;
        let told = String::from_utf8_lossy(&told);
        let format = "--batch-check=%(objecttype) %(objectname)";
        if count_of(&told, "count") + count_of(&told, "in-pack") <= MOST_OBJECTS {
            let words = ["cat-file", "--batch-all-objects", "--unordered", format];
            return self.git.ask(&self.at, "cat-file", &words, b"");
        }
        let words = ["rev-parse", "--path-format=absolute", "--git-path", "objects"];
        let objects = self.git.ask(&self.at, "rev-parse", &words, b"")?;
        let objects = PathBuf::from(OsStr::from_bytes(objects.trim_ascii_end()));
        let mut loose = Vec::new();
        for folder in objects.read_dir().into_iter().flatten().flatten() {
            let start = folder.file_name();
            for object in folder.path().read_dir().into_iter().flatten().flatten() {
                let name = [start.as_encoded_bytes(), object.file_name().as_encoded_bytes()].concat();
                if name.iter().all(u8::is_ascii_hexdigit) {
                    loose.extend(name);
                    loose.push(b'\n');
                }
            }
        }
        if loose.is_empty() {
            return Ok(loose);
        }
        self.git.ask(&self.at, "cat-file", &["cat-file", format], &loose)
    }
}

/// What is stored in a repository.
struct StoredObjects {
    /// A line for each object that has a name, with the path at which it was found first.
    listed: Vec<u8>,
    /// A line for each file that has none.
    unnamed: Vec<u8>,
}

/// The number behind a word in what `git count-objects` tells.
fn count_of(told: &str, word: &str) -> u64 {
    let count = told.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(": ")?.parse().ok());
    count.unwrap_or(0)
}

/// Trees by their names, each with the names and the paths of what is in it.
struct Trees(HashMap<Vec<u8>, Vec<TreeEntry>>);

/// The name of an object, and of the file that it is.
type TreeEntry = (Vec<u8>, Vec<u8>);

impl Trees {
    /// The answer of `git cat-file`: of each tree a line with its name and its size, and its content.
    fn parse(mut told: &[u8]) -> Self {
        let mut trees = HashMap::new();
        while let Some(end) = told.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = (&told[..end], &told[end + 1..]);
            let Some(at) = line.iter().position(|byte| *byte == b' ') else { break };
            let size = str::from_utf8(&line[at + 1..]).ok().and_then(|size| size.parse::<usize>().ok());
            // An object that cannot be read has no size, and no content behind it.
            let Some(content) = size.and_then(|size| rest.get(..size)) else {
                told = rest;
                continue;
            };
            trees.insert(line[..at].to_vec(), entries(content, at / 2));
            told = rest.get(content.len() + 1..).unwrap_or_default();
        }
        Self(trees)
    }

    /// A line for each object, with its name and its path in the outermost of these trees that hold it.
    fn listed(&self) -> Vec<u8> {
        let inner: HashSet<_> = self.0.values().flatten().map(|(name, _)| name).collect();
        let outermost = self.0.keys().filter(|tree| !inner.contains(tree));
        let mut waiting: Vec<_> = outermost.map(|tree| (tree, Vec::new())).collect();
        let (mut listed, mut seen) = (Vec::new(), HashSet::new());
        while let Some((tree, above)) = waiting.pop() {
            for (name, file) in self.0.get(tree).into_iter().flatten() {
                let path = if above.is_empty() { file.clone() } else { [&above[..], file].join(&b'/') };
                listed.extend([name, &path[..]].join(&b' '));
                listed.push(b'\n');
                if self.0.contains_key(name) && seen.insert((name, path.clone())) {
                    waiting.push((name, path));
                }
            }
        }
        listed
    }
}

/// The entries of a tree: of each a mode, the name of a file, and the name of an object with this many bytes.
fn entries(mut tree: &[u8], length: usize) -> Vec<TreeEntry> {
    let mut entries = Vec::new();
    while let Some(end) = tree.iter().position(|byte| *byte == 0) {
        let file = tree[..end].splitn(2, |byte| *byte == b' ').nth(1);
        let (Some(file), Some(name)) = (file, tree.get(end + 1..end + 1 + length)) else { break };
        let digits = name.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
        entries.push((digits, file.to_vec()));
        tree = &tree[end + 1 + length..];
    }
    entries
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

/// The name of the object in a line, which may have a path behind it.
fn name_of(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b' ').next().unwrap_or_default()
}

/// The objects of a list that have a path, with it.
fn named(objects: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines(objects).filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b' ')?;
        Some((&line[..at], line.get(at + 1..).filter(|path| !path.is_empty())?))
    })
}
