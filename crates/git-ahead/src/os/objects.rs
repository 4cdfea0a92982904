//! Objects that a repository lacks: taken out of a view, kept in a pack, and added by git, which computes the name of
//! each from its content. So no object can get the name of another one.

use std::fmt::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use headstart_overlay_fs::ContentHash;

use super::folder::{self, Kind, ReadBudget};
use super::private;
use super::program::{Git, RepositoryPaths};
use super::snapshot::LONGEST;
use crate::{GitError, ObjectName, Objects};

/// Fewer objects than this become loose objects, as in git's own transfers.
const FEW: u32 = 100;

/// Copies the objects that a view has and the user's repository lacks to a private one. The bytes are not trusted:
/// [`bring`] has git check them.
pub(super) fn copy_new(view: &Dir, real: &Dir, to: &Dir, digits: usize) -> Result<(), GitError> {
    let Ok(objects) = view.open_dir_nofollow("objects") else {
        return Err(folder::hostile("objects", "it is no folder"));
    };
    let mut room = ReadBudget::new();
    for entry in folder::walk(&objects, "", &mut room, &|path| path == "pack" || is_fan(path))? {
        let (Kind::File(_), path) = (entry.kind, format!("objects/{}", entry.path)) else { continue };
        if !is_object(&entry.path, digits) || real.symlink_metadata(&path).is_ok() {
            continue;
        }
        let Some(bytes) = folder::read(view, &path, LONGEST, &mut room)? else { continue };
        if let Some((above, _)) = path.rsplit_once('/')
            && !to.is_dir(above)
        {
            to.create_dir_all(above).map_err(folder::io_error(above))?;
        }
        private::write(to, &path, &bytes)?;
    }
    Ok(())
}

/// Whether a path below `objects` is that of an object, of a pack or of a pack's index.
pub(super) fn is_object(path: &str, digits: usize) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match path.split_once('/') {
        Some(("pack", name)) => name
            .strip_prefix("pack-")
            .and_then(|name| name.strip_suffix(".pack").or_else(|| name.strip_suffix(".idx")))
            .is_some_and(|name| name.len() == digits && is_hex(name)),
        Some((fan, rest)) => is_fan(fan) && rest.len() == digits - 2 && is_hex(rest),
        None => false,
    }
}

pub(super) fn is_fan(path: &str) -> bool {
    path.len() == 2 && path.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Writes a pack of everything that these objects need and that the excluded ones do not contain; `None` if that is
/// nothing.
pub(super) fn pack(
    git: &Git,
    at: &RepositoryPaths,
    wanted: &[ObjectName],
    excluded: &[ObjectName],
    (folder, name): (&Path, &str),
) -> Result<Option<Objects>, GitError> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut revisions = String::new();
    for name in wanted {
        let _ = writeln!(revisions, "{name}");
    }
    for name in excluded {
        let _ = writeln!(revisions, "^{name}");
    }
    let state = folder::open(folder)?;
    let failed = |source| GitError::Io { path: folder.join(name).display().to_string(), source };
    let file = state.create(name).map_err(failed)?.into_std();
    let written = file.try_clone().map_err(failed)?;
    let options = ["pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset"];
    git.pour(at, "pack-objects", &options, revisions.as_bytes(), written)?;
    file.sync_all().map_err(failed)?;
    let bytes = state.read(name).map_err(failed)?;
    let count = bytes.get(8..12).and_then(|count| count.try_into().ok()).map_or(0, u32::from_be_bytes);
    if count == 0 {
        state.remove_file(name).map_err(failed)?;
        return Ok(None);
    }
    if LONGEST < bytes.len() as u64 {
        state.remove_file(name).map_err(failed)?;
        return Err(GitError::Limit { path: folder::told("objects"), limit: LONGEST, unit: "bytes" });
    }
    let (content, len) = (ContentHash::of(&bytes), bytes.len() as u64);
    Ok(Some(Objects { pack: name.to_owned(), content, len, count }))
}

/// Adds a pack's objects to a repository, where no ref names them yet. Git computes the name of each, and refuses
/// damaged ones.
pub(super) fn bring(
    git: &Git,
    at: &RepositoryPaths,
    state: &Path,
    objects: &Objects,
) -> Result<(), GitError> {
    let pack = open_pack(state, objects)?;
    if objects.count < FEW {
        git.feed(at, "unpack-objects", &["unpack-objects", "-q", "--strict"], pack).map(drop)
    } else {
        git.feed(at, "index-pack", INDEX_PACK, pack).map(drop)
    }
}

/// As [`bring`], for a check: git adds them to a private repository, because adding an object that the user's
/// repository already has would change the time of its file.
pub(super) fn look_at(
    git: &Git,
    at: &RepositoryPaths,
    state: &Path,
    objects: &Objects,
) -> Result<(), GitError> {
    git.feed(at, "index-pack", INDEX_PACK, open_pack(state, objects)?).map(drop)
}

const INDEX_PACK: &[&str] = &["index-pack", "--stdin", "--strict", "--fix-thin"];

fn open_pack(state: &Path, objects: &Objects) -> Result<OwnedFd, GitError> {
    let path = state.join(&objects.pack);
    let failed = |source| GitError::Io { path: path.display().to_string(), source };
    let state = folder::open(state)?;
    // The handle of the state folder refuses a name that leads out of it.
    let bytes = state.read(&objects.pack).map_err(failed)?;
    if bytes.len() as u64 != objects.len || ContentHash::of(&bytes) != objects.content {
        let message = format!("{} was changed by somebody else", path.display());
        return Err(GitError::Damaged { message, source: None });
    }
    Ok(state.open(&objects.pack).map_err(failed)?.into())
}

/// Checks that nothing is missing below these objects. Everything that the refs of the repository reach is known to
/// be complete, so the time depends on how much is new, and not on the length of the history.
pub(super) fn check_connected(git: &Git, at: &RepositoryPaths, names: &[ObjectName]) -> Result<(), GitError> {
    if names.is_empty() {
        return Ok(());
    }
    let mut input = String::new();
    for name in names {
        let _ = writeln!(input, "{name}");
    }
    let options = ["rev-list", "--objects", "--stdin", "--not", "--all", "--quiet"];
    git.ask(at, "rev-list", &options, input.as_bytes()).map(drop)
}
