//! Which of the user's own git settings apply in a view, where the home folder is empty.
//!
//! They say who commits and how line ends and ignored files are treated, because a commit made ahead is to be the one
//! that its user would have made. Only settings on a list are passed on, because these files contain tokens and name
//! programs that ask for passwords. The repository's own settings are in the view anyway, and take precedence.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use headstart_git_ahead::Setting;
use tempfile::TempDir;

use super::lock;
use crate::environment::Environment;
use crate::git;
use crate::system::FileNumbers as _;

/// Settings that determine what a commit contains, and say nothing about how a server is reached.
const SHOWN: [&str; 18] = [
    "commit.cleanup",
    "commit.gpgsign",
    "core.autocrlf",
    "core.commentchar",
    "core.eol",
    "core.quotepath",
    "core.safecrlf",
    "core.whitespace",
    "diff.algorithm",
    "diff.renames",
    "init.defaultbranch",
    "lfs.storage",
    "merge.conflictstyle",
    "merge.ff",
    "rebase.autosquash",
    "tag.gpgsign",
    "user.email",
    "user.name",
];
/// Sections of which all settings are passed on: who commits, and how file content (of large files, for example) is
/// turned into an object.
const SHOWN_SECTIONS: [&str; 3] = ["author.", "committer.", "filter."];
/// Files that a setting names or that git looks for in the home folder, with their names there.
const FILES: [(&str, &str); 2] = [("core.attributesfile", "attributes"), ("core.excludesfile", "ignore")];
/// The most bytes of such a file.
const MAX_LENGTH: u64 = 1 << 20;

/// A user's git settings, which are read again when their files change.
pub(super) struct GitSettings {
    workspace: PathBuf,
    users: Vec<(OsString, OsString)>,
    /// The paths at which the user's own settings are searched for.
    places: Vec<PathBuf>,
    /// Whether the workspace has a repository, or is in one.
    is_there: bool,
    /// The folder with copies of the files that settings name, which views show. Removed when the process ends.
    folder: Option<TempDir>,
    read: Mutex<Option<CachedSettings>>,
}

struct CachedSettings {
    /// The files that the settings came from, with their stamps; `None` if the stamps would not show every change.
    stamps: Option<Vec<(PathBuf, Option<FileStamp>)>>,
    variables: Vec<(OsString, OsString)>,
}

type FileStamp = (u64, u64, i64, i64);

impl GitSettings {
    /// The settings of the user with this environment, for a workspace.
    pub(super) fn new(workspace: &Path, environment: &Environment) -> Self {
        let users: Vec<_> = ["HOME", "XDG_CONFIG_HOME"]
            .into_iter()
            .filter_map(|name| Some((OsString::from(name), environment.get(name)?.to_owned())))
            .collect();
        let home = environment.get("HOME").map(Path::new);
        let named = environment.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|named| named.is_absolute());
        let config = named.or_else(|| Some(home?.join(".config")));
        let mut places: Vec<_> = home.map(|home| home.join(".gitconfig")).into_iter().collect();
        places.push(workspace.join(".git/config"));
        places.extend(config.iter().map(|config| config.join("git/config")));
        places.extend(config.iter().flat_map(|config| FILES.map(|(_, name)| config.join("git").join(name))));
        let is_there = workspace.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok());
        let made = || tempfile::Builder::new().prefix("gitconfig-").tempdir().ok();
        let folder = (is_there && places.iter().any(|place| may_name_files(place))).then(made).flatten();
        Self { workspace: workspace.to_owned(), users, places, is_there, folder, read: Mutex::default() }
    }

    /// The folder that a view must show.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(TempDir::path)
    }

    /// The variables that give git these settings. Settings on git's own command line take precedence over them.
    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        if !self.is_there {
            return Vec::new();
        }
        let mut read = lock(&self.read);
        let is_current = |known: &CachedSettings| {
            known
                .stamps
                .as_ref()
                .is_some_and(|stamps| stamps.iter().all(|(file, stamp)| stamp_of(file) == *stamp))
        };
        read.take_if(|known| !is_current(known));
        read.get_or_insert_with(|| self.read_settings()).variables.clone()
    }

    fn read_settings(&self) -> CachedSettings {
        // Without the settings a commit fails with the message that it does not know its author.
        let settings = match git::odd_file(&self.workspace) {
            None => {
                git::find(&self.workspace).and_then(|git| git.settings(&self.workspace, &self.users)).ok()
            }
            Some(_) => None,
        };
        let settings = settings.unwrap_or_default();
        let files = settings.iter().filter_map(|setting| setting.file.as_ref());
        let mut files: Vec<_> = files.map(|file| self.workspace.join(file)).collect();
        files.extend(self.places.iter().cloned());
        let mut shown: Vec<(String, String)> = Vec::new();
        for setting in settings.iter().filter(|setting| setting.scope == "global" && is_shown(&setting.key)) {
            let is_of_repository =
                |other: &&Setting| is_repository_setting(other) && other.key == setting.key;
            if !settings.iter().any(|other| is_of_repository(&other)) {
                shown.push((setting.key.clone(), setting.value.clone().unwrap_or_else(|| "true".to_owned())));
            }
        }
        for (key, name) in FILES {
            let named = settings.iter().rev().find(|setting| setting.key == key);
            if named.is_some_and(is_repository_setting) {
                continue;
            }
            let named = named.and_then(|setting| setting.value.as_deref()).map(|path| self.in_home(path));
            let usual = || self.places.iter().find(|place| place.ends_with(format!("git/{name}"))).cloned();
            let Some(file) = named.or_else(usual) else { continue };
            if let Some(copy) = self.folder().map(|folder| folder.join(name))
                && copy_to(&file, &copy)
            {
                shown.push((key.to_owned(), copy.display().to_string()));
            }
            files.push(file);
        }
        // Whether an included file applies may depend on more than that file.
        let has_parts = settings.iter().any(|setting| setting.key.starts_with("include"));
        let stamps = files
            .into_iter()
            .map(|file| {
                let stamp = stamp_of(&file);
                (file, stamp)
            })
            .collect();
        CachedSettings { stamps: (!has_parts).then_some(stamps), variables: variables(&shown) }
    }

    /// Resolves a path in a setting as git does.
    fn in_home(&self, path: &str) -> PathBuf {
        let home = self.users.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
        match (path.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => home.join(below),
            _ => self.workspace.join(path),
        }
    }
}

/// Whether a file of settings may name one of [`FILES`], or is one of them.
fn may_name_files(place: &Path) -> bool {
    // Among these is the project's own `.git/config`, in whose place anything may lie.
    let is_plain = fs::metadata(place).is_ok_and(|found| found.is_file() && found.len() <= MAX_LENGTH);
    let Some(bytes) = is_plain.then(|| fs::read(place).ok()).flatten() else { return false };
    let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    let is_one = || FILES.iter().any(|(_, name)| place.ends_with(Path::new("git").join(name)));
    ["excludesfile", "attributesfile", "include"].iter().any(|word| text.contains(word)) || is_one()
}

fn is_repository_setting(setting: &Setting) -> bool {
    matches!(setting.scope.as_str(), "local" | "worktree")
}

fn is_shown(key: &str) -> bool {
    SHOWN.contains(&key) || SHOWN_SECTIONS.iter().any(|section| key.starts_with(section))
}

fn variables(settings: &[(String, String)]) -> Vec<(OsString, OsString)> {
    if settings.is_empty() {
        return Vec::new();
    }
    let mut variables = vec![("GIT_CONFIG_COUNT".into(), settings.len().to_string().into())];
    for (place, (key, value)) in settings.iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{place}").into(), key.into()));
        variables.push((format!("GIT_CONFIG_VALUE_{place}").into(), value.into()));
    }
    variables
}

/// Copies a file. Returns whether the copy exists now.
fn copy_to(file: &Path, copy: &Path) -> bool {
    let is_plain = fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= MAX_LENGTH);
    is_plain && fs::read(file).is_ok_and(|bytes| fs::write(copy, bytes).is_ok())
}

fn stamp_of(file: &Path) -> Option<FileStamp> {
    let stamp = |found: Metadata| (found.dev(), found.ino(), found.ctime(), found.ctime_nsec());
    fs::metadata(file).ok().map(stamp)
}

/// Whether git printed that it could not sign.
pub(super) fn could_not_sign(output: &[u8]) -> bool {
    let text = String::from_utf8_lossy(output);
    ["gpg failed to sign the data", "failed to write commit object", "unable to sign the tag"]
        .iter()
        .any(|words| text.contains(words))
}
