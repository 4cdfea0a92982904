//! Whether what a command reads is open, as the disk has it: the product's shell runs it unconfined, so a wildcard, a
//! folder or a link must lead to nothing closed, and a path must not leave the workspace.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use headstart_machine::git::is_endless;
use headstart_machine::system::{FileNumbers as _, path_in, read_plain};
use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::{CommandRead, DenyRules, Extent, ReadNames, git_config_holds_token};

/// The most names that are looked at for one command, which takes well below a second.
const MAX_NAMES: usize = 100_000;
/// The most names in a workspace among which closed links are looked for.
const MAX_NAMES_FOR_LINKS: usize = 1_000_000;
/// Folders with what package managers fetched, which is no secret.
const NOT_SEARCHED: [&str; 2] = ["node_modules", ".venv"];
/// Folders whose files are names of those in a store elsewhere, as package managers and git link them by the thousand.
const LINKED_FROM_STORES: [&str; 6] = ["node_modules", ".venv", "venv", ".yarn", "target", ".git"];
/// Folders in which git keeps contents without the names of their files.
const WITHOUT_NAMES: [&str; 2] = ["rr-cache", "lost-found"];
/// The most bytes of a configuration of git.
const MAX_BYTES: u64 = 1 << 20;

/// Why these reads must not take place unconfined; `None` if all of them lead to open files of the workspace, whose
/// path has no links.
pub(super) fn objection(workspace: &Path, reads: &[CommandRead], rules: &DenyRules) -> Option<String> {
    let mut look = Look {
        workspace,
        rules,
        names: 0,
        several_names: HashMap::new(),
        seen: HashSet::new(),
        read: HashSet::new(),
    };
    look.reads(reads).err()
}

/// The reason against a read.
type Objection = String;

struct Look<'a> {
    workspace: &'a Path,
    rules: &'a DenyRules,
    names: usize,
    /// The files that are read and have more than one name, by device and inode.
    several_names: HashMap<(u64, u64), SeveralNames>,
    /// Folders whose content was looked at, each with whether links in it were followed.
    seen: HashSet<(PathBuf, bool)>,
    /// All that is read, by paths without links.
    read: HashSet<PathBuf>,
}

/// A file with several names.
struct SeveralNames {
    /// The name by which it is read.
    path: PathBuf,
    /// How many it has in all, and how many of them were found in the workspace.
    links: u64,
    found: u64,
    is_from_store: bool,
}

impl Look<'_> {
    fn reads(&mut self, reads: &[CommandRead]) -> Result<(), Objection> {
        for read in reads {
            let path = path_in(self.workspace, &read.path).map_err(|error| error.to_string())?;
            match &read.names {
                ReadNames::Path => self.path(&path, read.extent, false)?,
                ReadNames::Unknown if read.extent == Extent::Names => self.folders_below(&path)?,
                ReadNames::Unknown => self.path(&path, Extent::Below, true)?,
                ReadNames::Matching(pattern) => {
                    for path in self.matching(path, pattern)? {
                        self.path(&path, read.extent, false)?;
                    }
                }
            }
        }
        self.other_names()?;
        self.targets_of_closed_links()
    }

    /// Looks at a path that is read, and with `follows` also where links below it lead.
    fn path(&mut self, path: &Path, extent: Extent, follows: bool) -> Result<(), Objection> {
        if extent == Extent::Names {
            return self.names_of(path);
        }
        let Some((real, metadata)) = Self::real(path)? else { return Ok(()) };
        let inside = self.inside(&real).ok_or_else(|| leaves(path))?;
        self.open(&real, &inside)?;
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(endless(path));
        }
        if metadata.is_dir() && extent == Extent::Below {
            return self.below(&real, &inside, follows);
        }
        self.note(&real, &metadata);
        Ok(())
    }

    /// Looks at a path of which only names are told.
    fn names_of(&mut self, path: &Path) -> Result<(), Objection> {
        let Some(folder) = path.parent().filter(|_| path != self.workspace) else { return Ok(()) };
        let Some((real, _)) = Self::real(folder)? else { return Ok(()) };
        self.inside(&real).ok_or_else(|| leaves(path))?;
        let Some((real, metadata)) = Self::real(path)? else { return Ok(()) };
        match self.inside(&real) {
            // Of a link to a file, only its own name is told.
            None if metadata.is_dir() => Err(leaves(path)),
            Some(inside) if self.rules.matching(&inside).is_some() => Err(closed(&inside)),
            None | Some(_) => Ok(()),
        }
    }

    /// Looks at everything below a folder, whose path has no links.
    fn below(&mut self, folder: &Path, inside: &WorkspacePath, follows: bool) -> Result<(), Objection> {
        if !self.seen.insert((folder.to_owned(), follows)) {
            return Ok(());
        }
        for (path, kind) in self.list(folder)? {
            let name = path.file_name().unwrap_or_default();
            if kind.is_symlink() {
                if follows {
                    self.path(&path, Extent::Below, true)?;
                }
                continue;
            }
            let below = inside.join_bytes(name.as_encoded_bytes()).map_err(|error| error.to_string())?;
            self.open(&path, &below)?;
            if is_endless(kind) {
                return Err(endless(&path));
            }
            if !kind.is_dir() {
                let metadata = path.symlink_metadata().map_err(|error| unclear(&path, &error))?;
                self.note(&path, &metadata);
            } else if follows || !NOT_SEARCHED.iter().any(|known| name == *known) {
                self.below(&path, &below, follows)?;
            }
        }
        Ok(())
    }

    /// Looks whether a folder below this one is a link that leads out.
    fn folders_below(&mut self, folder: &Path) -> Result<(), Objection> {
        self.names_of(folder)?;
        let Some((real, _)) = Self::real(folder)?.filter(|(_, metadata)| metadata.is_dir()) else {
            return Ok(());
        };
        for (path, kind) in self.list(&real)? {
            if kind.is_symlink() {
                self.names_of(&path)?;
            } else if kind.is_dir() {
                self.folders_below(&path)?;
            }
        }
        Ok(())
    }

    /// The paths below `folder` that a pattern of the shell matches, and perhaps some more.
    fn matching(&mut self, folder: PathBuf, pattern: &str) -> Result<Vec<PathBuf>, Objection> {
        let start = folder.clone();
        let mut paths = vec![folder];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            if !part.contains(['*', '?', '[']) {
                for path in &mut paths {
                    path.push(part);
                }
                continue;
            }
            let mut matching = Vec::new();
            for path in paths {
                self.names_of(&path)?;
                if !path.is_dir() {
                    continue;
                }
                let listed = self.list(&path)?.into_iter().map(|(path, _)| path);
                let fits = |path: &PathBuf| {
                    path.file_name().is_some_and(|name| matches(part.as_bytes(), name.as_encoded_bytes()))
                };
                matching.extend(listed.filter(fits));
                let is_option = |path: &&PathBuf| {
                    path.parent() == Some(&start)
                        && path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"-"))
                };
                if let Some(path) = matching.iter().find(is_option) {
                    return Err(format!("a program may take the name of {} for an option", path.display()));
                }
            }
            paths = matching;
        }
        Ok(paths)
    }

    /// Objects if a file with several names that is read is a closed one by another name, or may be anybody's, because one
    /// of its names is outside of the workspace.
    fn other_names(&mut self) -> Result<(), Objection> {
        if self.several_names.is_empty() {
            return Ok(());
        }
        let counts = self.several_names.values().any(|file| !file.is_from_store);
        let mut folders = vec![(self.workspace.to_owned(), WorkspacePath::root(), false)];
        while let Some((folder, inside, is_closed)) = folders.pop() {
            for (path, kind) in self.list(&folder)? {
                let name = path.file_name().unwrap_or_default();
                let below = inside.join_bytes(name.as_encoded_bytes()).map_err(|error| error.to_string())?;
                let is_closed = is_closed
                    || self.rules.closes(&below, false)
                    || kind.is_dir() && self.keeps_objects(&path);
                if kind.is_dir() {
                    folders.push((path, below, is_closed));
                } else if is_closed || counts {
                    let Ok(found) = path.symlink_metadata() else { continue };
                    let Some(file) = self.several_names.get_mut(&(found.dev(), found.ino())) else {
                        continue;
                    };
                    if is_closed {
                        return Err(format!("a file that the command reads is {below} by another name"));
                    }
                    file.found += 1;
                }
            }
        }
        let mut left =
            self.several_names.values().filter(|file| !file.is_from_store && file.found < file.links);
        left.next().map_or(Ok(()), |file| {
            Err(format!(
                "{} is a file outside of the workspace by another name (a hard link)",
                file.path.display()
            ))
        })
    }

    /// Objects if something that is read is what a closed link leads to.
    fn targets_of_closed_links(&mut self) -> Result<(), Objection> {
        let mut left = if self.read.is_empty() { return Ok(()) } else { MAX_NAMES_FOR_LINKS };
        let mut folders = vec![(self.workspace.to_owned(), WorkspacePath::root())];
        while let Some((folder, inside)) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                left = left.checked_sub(1).ok_or_else(too_many)?;
                let (path, name) = (entry.path(), entry.file_name());
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() && !LINKED_FROM_STORES.iter().any(|store| name == *store) {
                    let below =
                        inside.join_bytes(name.as_encoded_bytes()).map_err(|error| error.to_string())?;
                    folders.push((path, below));
                } else if kind.is_symlink() {
                    let below =
                        inside.join_bytes(name.as_encoded_bytes()).map_err(|error| error.to_string())?;
                    let Some(target) =
                        self.rules.closes(&below, false).then(|| path.canonicalize().ok()).flatten()
                    else {
                        continue;
                    };
                    if self.read.iter().any(|read| read.starts_with(&target)) && target != self.workspace {
                        return Err(format!("a file that the command reads is {below} by another name"));
                    }
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, path: &Path, metadata: &Metadata) {
        if !metadata.is_file() || metadata.nlink() < 2 {
            return;
        }
        let inside = path.strip_prefix(self.workspace).unwrap_or(path);
        let is_from_store = inside.iter().any(|step| LINKED_FROM_STORES.iter().any(|store| step == *store));
        let file = SeveralNames { path: path.to_owned(), links: metadata.nlink(), found: 0, is_from_store };
        let known = self.several_names.entry((metadata.dev(), metadata.ino())).or_insert(file);
        known.is_from_store &= is_from_store;
    }

    /// Objects to a path that is closed. The configuration of a repository is, if it holds a token; what a repository
    /// keeps of files is, if a deny rule may cover some of them.
    fn open(&mut self, path: &Path, inside: &WorkspacePath) -> Result<(), Objection> {
        self.read.insert(path.to_owned());
        let in_workspace = |folder: &&Path| folder.starts_with(self.workspace);
        let is_without_names = |name: &[u8]| WITHOUT_NAMES.iter().any(|known| name == known.as_bytes());
        let has_no_names = inside.names().skip_while(|name| *name != b".git").any(is_without_names);
        let keeps_objects =
            path.ancestors().take_while(in_workspace).any(|folder| self.keeps_objects(folder));
        if keeps_objects || has_no_names {
            return Err(closed(inside));
        }
        if !self.rules.closes(inside, false) {
            return Ok(());
        }
        let is_of_git = inside.parent().is_some_and(|folder| folder.file_name() == Some(b".git"))
            && inside.file_name() == Some(b"config")
            && self.rules.matching(inside).is_none();
        let holds_no_token =
            || read_plain(path, MAX_BYTES).is_ok_and(|content| !git_config_holds_token(&content));
        if is_of_git && holds_no_token() { Ok(()) } else { Err(closed(inside)) }
    }

    /// Whether a repository keeps what was committed in this folder, and a deny rule may cover some of it. Git makes both
    /// of these in each such folder, whatever it is called.
    fn keeps_objects(&self, folder: &Path) -> bool {
        !self.rules.is_empty() && ["pack", "info"].iter().all(|made| folder.join(made).is_dir())
    }

    /// Where a path leads; `None` if it leads nowhere.
    fn real(path: &Path) -> Result<Option<(PathBuf, Metadata)>, Objection> {
        let found = path.canonicalize().and_then(|real| Ok((real.clone(), real.symlink_metadata()?)));
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(unclear(path, &error)),
        }
    }

    fn inside(&self, real: &Path) -> Option<WorkspacePath> {
        let inside = real.strip_prefix(self.workspace).ok()?;
        let inside = Path::new(".").join(inside);
        WorkspacePath::root().join_bytes(inside.as_os_str().as_encoded_bytes()).ok()
    }

    fn list(&mut self, folder: &Path) -> Result<Vec<(PathBuf, fs::FileType)>, Objection> {
        // A folder that cannot be listed cannot be read by the command either.
        let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
        let mut listed = Vec::new();
        for entry in entries {
            self.names += 1;
            if MAX_NAMES < self.names {
                return Err(too_many());
            }
            let entry = entry.map_err(|error| unclear(folder, &error))?;
            let kind = entry.file_type().map_err(|error| unclear(&entry.path(), &error))?;
            listed.push((entry.path(), kind));
        }
        Ok(listed)
    }
}

fn too_many() -> Objection {
    format!("it reads among more than {MAX_NAMES} names, too many to look for closed ones")
}

fn leaves(path: &Path) -> Objection {
    format!("{} leads out of the workspace", path.display())
}

fn endless(path: &Path) -> Objection {
    format!("{} is not a regular file, and reading it might never end", path.display())
}

fn closed(inside: &WorkspacePath) -> Objection {
    format!("it reads {inside}, which is closed, and nothing confines a command that runs as it is")
}

fn unclear(path: &Path, error: &std::io::Error) -> Objection {
    format!("it cannot be told what {} is: {error}", path.display())
}

/// Whether a part of a pattern may match a name. Which characters a wildcard or a bracket stands for is not looked at,
/// nor is the case.
fn matches(part: &[u8], name: &[u8]) -> bool {
    let (part, may_begin_with_dot) = without_brackets(part);
    if name.first() == Some(&b'.') && !may_begin_with_dot {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let end = part.iter().position(|byte| *byte == b'[');
    let mut literals = part[..end.unwrap_or(part.len())].split(|byte| matches!(byte, b'*' | b'?'));
    let Some(mut rest) = literals.next().and_then(|start| name.strip_prefix(start)) else { return false };
    let mut literals: Vec<&[u8]> = literals.collect();
    let last = match (end, literals.pop()) {
        // Behind a bracket that is not understood there may be anything.
        (Some(_), _) => None,
        // Without a wildcard, the whole name is literal.
        (None, None) => return rest.is_empty(),
        (None, last) => last,
    };
    for literal in literals.into_iter().filter(|literal| !literal.is_empty()) {
        let Some(at) = rest.windows(literal.len()).position(|found| found == literal) else { return false };
        rest = &rest[at + literal.len()..];
    }
    last.is_none_or(|last| rest.ends_with(last))
}

/// A part of a pattern in lower case, with `?` in the place of each bracket that lists letters and digits, and whether
/// it may match a name that begins with a dot.
fn without_brackets(part: &[u8]) -> (Vec<u8>, bool) {
    let mut rest = part.to_ascii_lowercase();
    let mut plain = Vec::new();
    while let Some(open) = rest.iter().position(|byte| *byte == b'[') {
        let inner = &rest[open + 1..];
        let length = inner.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if length == 0 || inner.get(length) != Some(&b']') {
            break;
        }
        plain.extend_from_slice(&rest[..open]);
        plain.push(b'?');
        rest.drain(..open + length + 2);
    }
    plain.extend(rest);
    let may_begin_with_dot = matches!(plain.first(), Some(b'.' | b'['));
    (plain, may_begin_with_dot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_misses_no_name_that_the_shell_finds() {
        for (part, name, expected) in [
            ("*", "a.txt", true),
            ("*", ".env", false),
            (".*", ".env", true),
            (".e*", ".ENV", true),
            (".e?v", ".env", true),
            (".[a-f]*", ".env", true),
            ("[.]env", ".env", true),
            ("*.rs", "main.rs", true),
            ("*.rs", "main.rst", false),
            ("m*i*.rs", "main.rs", true),
            ("m*x*.rs", "main.rs", false),
            ("ma?n.r[s]", "main.rs", true),
            ("[ab].txt", "a.txt", true),
            ("[ab].txt", ".env", false),
            ("[!a]*", ".env", true),
            (".[ef]nv", ".env", true),
            ("x[", "x[", true),
            ("a", "ab", false),
            ("?????", "né.rs", true),
            ("**", "x", true),
        ] {
            assert_eq!(matches(part.as_bytes(), name.as_bytes()), expected, "{part} {name}");
        }
    }
}
