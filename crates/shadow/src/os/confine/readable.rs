//! Which parts of a workspace a command may read without a question to the user.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use headstart_workspace_path::WorkspacePath;

use crate::confinement::Confinement;

/// Folders with what package managers fetched, which is no secret. Without a rule they are not searched.
const NOT_SEARCHED: [&str; 2] = ["node_modules", ".venv"];
/// The folder of a repository.
const GIT: &str = ".git";
/// The settings of a repository begin with this. Git needs them, and others keep copies beside them.
const GIT_SETTINGS: &[u8] = b"config";
/// What git itself fills in its folder, with names of its own or of branches.
const FILLED_BY_GIT: [&str; 4] = ["objects", "refs", "logs", "lfs"];
/// Folders in which git keeps contents without the names of their files, so that nothing tells what is closed: those of
/// conflicts, and of objects that a check found.
const WITHOUT_NAMES: [&str; 2] = ["rr-cache", "lost-found"];
/// The most names that are looked at before each command.
const MOST_NAMES: usize = 1_000_000;

/// Folders with everything below them, and files. Everything else is closed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readable {
    pub(super) folders: Vec<PathBuf>,
    pub(super) files: Vec<PathBuf>,
    /// Whether there is a closed file.
    pub(super) hides_something: bool,
    /// Whether a link of the workspace leads to what the kernel tells of processes.
    pub(super) leads_to_processes: bool,
}

impl Readable {
    /// What a confined command may read of the workspace, and of the folder around it. A folder without a closed file
    /// is one entry, which keeps the list short. A rule of the kernel is about a file and not about its name, so another
    /// name of a closed file is closed as well.
    pub(super) fn of(
        confinement: &Confinement,
        closes: &dyn Fn(&Path, &WorkspacePath) -> bool,
    ) -> io::Result<Self> {
        let (workspace, around) = (confinement.workspace.as_path(), confinement.around.as_deref());
        if !confinement.closes && confinement.rules.is_empty() {
            return Ok(Self::all(around.unwrap_or(workspace)));
        }
        let mut search = Search {
            confinement,
            closes,
            but: None,
            looked_at: 0,
            several_names: HashSet::new(),
            targets: HashSet::new(),
            names: HashMap::new(),
            is_blind: false,
            is_again: false,
            leads_to_processes: false,
            leads_to_git: None,
        };
        let mut found = search.both(workspace, around)?;
        if search.is_blind {
            search
                .several_names
                .extend(search.names.drain().filter_map(|(file, left)| (0 < left).then_some(file)));
        }
        if !search.several_names.is_empty() || !search.targets.is_empty() {
            search.is_again = true;
            found = search.both(workspace, around)?;
        }
        // Git needs its own folder, and a link would open that to every program beside it.
        if let Some(link) = search.leads_to_git {
            let why = format!(
                "the link {} leads into the folder of a repository, which every program of the command could read with git",
                link.display()
            );
            return Err(io::Error::other(why));
        }
        found.leads_to_processes = search.leads_to_processes;
        Ok(found)
    }

    fn all(folder: &Path) -> Self {
        Self { folders: vec![folder.to_owned()], ..Self::default() }
    }

    fn extend(&mut self, part: Self) {
        self.folders.extend(part.folders);
        self.files.extend(part.files);
        self.hides_something |= part.hides_something;
    }
}

/// Whether a repository keeps what was committed in this folder, which need not be called `.git/objects`. Git makes both
/// of these in each such folder.
fn keeps_objects(folder: &Path) -> bool {
    ["pack", "info"].iter().all(|made| folder.join(made).is_dir())
}

/// Whether files may have a name in a folder that cannot be looked through: it is the user's own, or can be entered.
fn may_hide_names(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    can_be_entered(folder) || folder.symlink_metadata().is_ok_and(|found| found.uid() == own)
}

fn can_be_entered(folder: &Path) -> bool {
    folder.join(".").metadata().is_ok()
}

/// Whether a link leads to `/proc`, where there are files without an end and the command lines of all processes.
fn leads_to_processes(link: &Path) -> bool {
    // A process that its target names may only begin later, so the text of the link counts as well.
    [link.read_link(), link.canonicalize()].into_iter().flatten().any(|target| target.starts_with("/proc"))
}

/// Whether a link leads into the folder of a repository, to its configuration or to what it keeps of files.
fn leads_to_git(link: &Path) -> bool {
    let Ok(target) = link.canonicalize() else { return false };
    let is_git = |folder: &Path| {
        folder.file_name().is_some_and(|name| name == GIT)
            || keeps_objects(folder)
            || keeps_objects(&folder.join("objects"))
    };
    target.ancestors().any(is_git)
}

struct Search<'a> {
    confinement: &'a Confinement,
    closes: &'a dyn Fn(&Path, &WorkspacePath) -> bool,
    /// This folder was searched already, by its own rules.
    but: Option<PathBuf>,
    looked_at: usize,
    /// The closed files that have another name, by device and inode.
    several_names: HashSet<(u64, u64)>,
    /// The files and folders to which closed links lead.
    targets: HashSet<PathBuf>,
    /// The files with several names, and how many of their names were not found.
    names: HashMap<(u64, u64), u64>,
    /// Whether there is a folder in which names of files may be that nobody can find.
    is_blind: bool,
    /// Whether those are known, so that their other names are looked for.
    is_again: bool,
    leads_to_processes: bool,
    /// A link that leads into the folder of a repository.
    leads_to_git: Option<PathBuf>,
}

impl Search<'_> {
    fn both(&mut self, workspace: &Path, around: Option<&Path>) -> io::Result<Readable> {
        self.but = None;
        let found = self.folder(workspace, &WorkspacePath::root())?;
        let mut readable = found.unwrap_or_else(|| Readable::all(workspace));
        if let Some(around) = around {
            self.but = Some(workspace.to_owned());
            let found = self.folder(around, &WorkspacePath::root())?;
            readable.extend(found.unwrap_or_else(|| Readable::all(around)));
        }
        Ok(readable)
    }

    /// What may be read of a folder; `None` for all of it.
    fn folder(&mut self, folder: &Path, path: &WorkspacePath) -> io::Result<Option<Readable>> {
        let is_git = path.names().any(|name| name == GIT.as_bytes());
        // The folder of a submodule may be called as one that git fills.
        let is_repository = is_git && folder.join("HEAD").symlink_metadata().is_ok();
        // Nobody can say what is in a folder that cannot be listed, and who knows a name in it may still open that.
        let Some(entries) = self.entries(folder) else { return Ok(Some(Readable::default())) };
        let (mut readable, mut is_partial) = (Readable::default(), false);
        for entry in entries {
            let entry = entry?;
            self.count()?;
            let name = entry.file_name();
            let kind = entry.file_type()?;
            let below = path.join_bytes(name.as_bytes()).map_err(io::Error::other)?;
            // A link counts as the file to which it leads.
            if kind.is_symlink() {
                self.leads_to_processes |= leads_to_processes(&entry.path());
                // Git itself goes by a link of that name, and by those in its folder, which no clone brings.
                let may_lead = self.confinement.starts_git && !is_git && name != GIT;
                if may_lead && self.leads_to_git.is_none() && leads_to_git(&entry.path()) {
                    self.leads_to_git = Some(entry.path());
                }
                // What a link in git's own folder leads to is git's, which is not shown as a whole.
                if !is_git && (self.closes)(&entry.path(), &below) {
                    self.note_target(&entry.path())?;
                }
                continue;
            }
            if self.but.as_ref().is_some_and(|but| entry.path() == *but) {
                is_partial = true;
                continue;
            }
            let is_setting = is_git && name.as_bytes().starts_with(GIT_SETTINGS);
            let may_be_closed = !(is_setting && self.confinement.starts_git);
            let is_closed = may_be_closed && (self.closes)(&entry.path(), &below)
                || self.targets.contains(&entry.path())
                || is_repository && WITHOUT_NAMES.iter().any(|known| name == *known)
                || self.closes_objects() && kind.is_dir() && keeps_objects(&entry.path());
            if is_closed {
                readable.hides_something = true;
                self.note(&entry.path())?;
            } else if !kind.is_dir() && self.looks_for_names() && self.is_known(&entry.metadata()?) {
                readable.hides_something = true;
            } else if kind.is_file() {
                self.note_name(&entry.metadata()?);
                readable.files.push(entry.path());
            } else if !kind.is_dir() {
                // Nobody may ever write to a pipe, and then whoever opens it waits for ever.
                is_partial = true;
            } else if !self.looks_for_names()
                && !self.targets.iter().any(|target| target.starts_with(entry.path()))
                && (is_repository && FILLED_BY_GIT.iter().any(|known| name == *known)
                    || self.confinement.rules.is_empty() && NOT_SEARCHED.iter().any(|known| name == *known))
            {
                readable.folders.push(entry.path());
            } else {
                match self.folder(&entry.path(), &below)? {
                    None => readable.folders.push(entry.path()),
                    Some(part) => {
                        readable.extend(part);
                        is_partial = true;
                    }
                }
            }
        }
        Ok((is_partial || readable.hides_something).then_some(readable))
    }

    /// Whether the files are closed in which repositories keep what was committed.
    fn closes_objects(&self) -> bool {
        !self.confinement.rules.is_empty() && !self.confinement.starts_git
    }

    /// What is in a folder, if that can be listed and looked at.
    fn entries(&mut self, folder: &Path) -> Option<fs::ReadDir> {
        let entries = fs::read_dir(folder).ok().filter(|_| can_be_entered(folder));
        self.is_blind |= entries.is_none() && may_hide_names(folder);
        entries
    }

    /// Counts a name of a file that has several.
    fn note_name(&mut self, found: &Metadata) {
        if !self.is_again && 1 < found.nlink() {
            *self.names.entry((found.dev(), found.ino())).or_insert(found.nlink()) -= 1;
        }
    }

    /// Whether other names of closed files are looked for.
    fn looks_for_names(&self) -> bool {
        self.is_again && !self.several_names.is_empty()
    }

    /// Remembers to which file or folder a closed link leads. One that is closed by its own name is found anyway.
    fn note_target(&mut self, link: &Path) -> io::Result<()> {
        let Ok(target) = link.canonicalize() else { return Ok(()) };
        let places = [Some(&self.confinement.workspace), self.confinement.around.as_ref()];
        let inside = places.into_iter().flatten().find_map(|place| target.strip_prefix(place).ok());
        let Some(inside) =
            inside.and_then(|inside| WorkspacePath::from_bytes(inside.as_os_str().as_bytes()).ok())
        else {
            return Ok(());
        };
        if !(self.closes)(&target, &inside) && !link.starts_with(&target) {
            self.note(&target)?;
            self.targets.insert(target);
        }
        Ok(())
    }

    /// Remembers which files below a closed path have another name.
    fn note(&mut self, path: &Path) -> io::Result<()> {
        let found = path.symlink_metadata()?;
        if found.is_file() && 1 < found.nlink() {
            self.several_names.insert((found.dev(), found.ino()));
        }
        if found.is_dir() {
            for entry in self.entries(path).into_iter().flatten() {
                self.count()?;
                self.note(&entry?.path())?;
            }
        }
        Ok(())
    }

    fn is_known(&self, found: &Metadata) -> bool {
        1 < found.nlink() && self.several_names.contains(&(found.dev(), found.ino()))
    }

    fn count(&mut self) -> io::Result<()> {
        self.looked_at += 1;
        if self.looked_at <= MOST_NAMES {
            return Ok(());
        }
        let why =
            format!("it holds more than {MOST_NAMES} files, too many to look for those that are closed");
        Err(io::Error::other(why))
    }
}
