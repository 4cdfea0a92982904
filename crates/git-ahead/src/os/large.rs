//! Files that git-LFS keeps beside the objects of git: a commit has only a pointer, and the content lies in
//! `.git/lfs/objects` below the SHA-256 of it.
//!
//! The content travels as a blob in the pack of the change, for which git itself computes the name again, and an accept
//! writes it from there. So a record needs no second file, and what was damaged on the way is noticed. The blob stays in
//! the user's repository until git collects what nobody names.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::ErrorKind;

use cap_std::fs::Dir;
use sha2::{Digest as _, Sha256};

use super::folder::{self, ReadBudget};
use super::private;
use super::program::{Git, RepositoryPaths};
use super::snapshot::{LONGEST, Snapshot};
use crate::{GitError, LargeFile, ObjectName};

/// The folder of the contents.
const FOLDER: &str = "lfs/objects";
/// Where git-LFS keeps what is not whole yet.
const TEMPORARY: &str = "lfs/tmp";
/// A pointer is shorter than this, by git-LFS's own rules.
const LONGEST_POINTER: u64 = 1_024;

/// Whether a path in `.git` is that of a content.
pub(super) fn is_content(path: &str) -> bool {
    let mut parts = path.rsplitn(4, '/');
    let (Some(oid), Some(second), Some(first)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_name = oid.len() == 64 && ObjectName::parse(oid).is_ok();
    parts.next() == Some(FOLDER) && is_name && oid[..2] == *first && oid[2..4] == *second
}

fn path_of(oid: &ObjectName) -> String {
    let oid = oid.as_str();
    format!("{FOLDER}/{}/{}/{oid}", &oid[..2], &oid[2..4])
}

/// Makes blobs of the contents that work added to a view and that the user's repository lacks, in the private
/// repository `at`.
pub(super) fn take_new(
    git: &Git,
    at: &RepositoryPaths,
    (view, real): (&Dir, &Dir),
    (before, after): (&Snapshot, &Snapshot),
) -> Result<Vec<LargeFile>, GitError> {
    let mut room = ReadBudget::new();
    let mut taken = Vec::new();
    let is_new =
        |path: &&String| !before.large.contains_key(*path) && real.symlink_metadata(path.as_str()).is_err();
    for path in after.large.keys().filter(is_new) {
        let Some(content) = folder::read(view, path, LONGEST, &mut room)? else { continue };
        let oid = ObjectName::parse(path.rsplit('/').next().unwrap_or_default())?;
        if name_of(&content)? != oid {
            return Err(folder::hostile(path, "its content does not have this name"));
        }
        let told = git.ask(at, "hash-object", &["hash-object", "-w", "--no-filters", "--stdin"], &content)?;
        let blob = ObjectName::parse(String::from_utf8_lossy(&told).trim())?;
        taken.push(LargeFile { oid, blob });
    }
    Ok(taken)
}

/// Writes the contents into a repository's folder, from the blobs in the repository `at`.
pub(super) fn write(git: &Git, at: &RepositoryPaths, to: &Dir, files: &[LargeFile]) -> Result<(), GitError> {
    for LargeFile { oid, blob } in files {
        if oid.as_str().len() != 64 {
            return Err(GitError::ObjectName { name: oid.as_str().to_owned() });
        }
        let path = path_of(oid);
        if to.symlink_metadata(&path).is_ok() {
            continue;
        }
        let content = git.ask(at, "cat-file", &["cat-file", "blob", blob.as_str()], b"")?;
        if name_of(&content)? != *oid {
            return Err(folder::hostile(&path, "its content does not have this name"));
        }
        let (above, _) = path.rsplit_once('/').unwrap_or_default();
        for folder in [above, TEMPORARY] {
            to.create_dir_all(folder).map_err(folder::io_error(folder))?;
        }
        // Under another name until it is whole, because whoever finds the name believes the content. Git-LFS removes
        // what is left of a dead process.
        let draft = format!("{TEMPORARY}/headstart-{oid}", oid = oid.as_str());
        let failed = folder::io_error(&path);
        match to.remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        private::write(to, &draft, &content)?;
        to.open(&draft).and_then(|file| file.sync_all()).map_err(&failed)?;
        to.rename(&draft, to, &path).map_err(failed)?;
    }
    Ok(())
}

/// Refuses work whose new commits or index name a content that would be nowhere after an accept: git-LFS kept it in a
/// place that is not looked at.
pub(super) fn check_pointers(
    git: &Git,
    at: &RepositoryPaths,
    (wanted, known): (&[ObjectName], &[ObjectName]),
    (taken, before, real): (&[LargeFile], &Snapshot, &Dir),
) -> Result<(), GitError> {
    let mut revisions = String::new();
    for name in wanted {
        let _ = writeln!(revisions, "{name}");
    }
    for name in known {
        let _ = writeln!(revisions, "^{name}");
    }
    let list = ["rev-list", "--objects", "--no-object-names", "--stdin"];
    let objects = git.ask(at, "rev-list", &list, revisions.as_bytes())?;
    let check = ["cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)"];
    let told = git.ask(at, "cat-file", &check, &objects)?;
    let told = String::from_utf8_lossy(&told);
    let small = told.lines().filter_map(|line| {
        let (size, name) = line.strip_prefix("blob ")?.split_once(' ')?;
        (size.parse::<u64>().ok()? < LONGEST_POINTER).then(|| format!("{name}\n"))
    });
    let small: String = small.collect();
    if small.is_empty() {
        return Ok(());
    }
    let contents = git.ask(at, "cat-file", &["cat-file", "--batch"], small.as_bytes())?;
    let taken: BTreeSet<&str> = taken.iter().map(|file| file.oid.as_str()).collect();
    for oid in pointers(&String::from_utf8_lossy(&contents)) {
        let path = path_of(&oid);
        let is_there = before.large.contains_key(&path) || real.symlink_metadata(&path).is_ok();
        if !taken.contains(oid.as_str()) && !is_there {
            let reason = "a commit has a pointer of git-LFS whose content is not in `.git/lfs`, so it would be missing".to_owned();
            return Err(GitError::Unsupported { reason });
        }
    }
    Ok(())
}

/// The names of the contents to which a text with whole pointers in it points.
fn pointers(text: &str) -> Vec<ObjectName> {
    let mut lines = text.lines().peekable();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if line != "version https://git-lfs.github.com/spec/v1" {
            continue;
        }
        while lines.next_if(|line| line.starts_with("ext-")).is_some() {}
        let oid = lines.next_if(|line| line.starts_with("oid sha256:"));
        let oid = oid.and_then(|line| ObjectName::parse(&line["oid sha256:".len()..]).ok());
        found.extend(oid.filter(|oid| oid.as_str().len() == 64));
    }
    found
}

fn name_of(content: &[u8]) -> Result<ObjectName, GitError> {
    let mut digits = String::new();
    for byte in Sha256::digest(content) {
        let _ = write!(digits, "{byte:02x}");
    }
    ObjectName::parse(&digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_and_pointers_are_known_by_their_form() {
        let oid = "ab".repeat(32);
        assert!(is_content(&format!("lfs/objects/ab/ab/{oid}")));
        for odd in ["lfs/objects/ab/ab", "lfs/tmp/objects/x", &format!("lfs/objects/ab/cd/{oid}"), &oid] {
            assert!(!is_content(odd), "{odd}");
        }
        assert!(!is_content(&format!("x/lfs/objects/ab/ab/{oid}")));
        let version = "version https://git-lfs.github.com/spec/v1\n";
        let text =
            format!("{version}ext-0-foo sha256:{oid}\noid sha256:{oid}\nsize 3\n{version}oid sha256:short\n");
        assert_eq!(pointers(&text), [ObjectName::parse(&oid).unwrap()]);
    }
}
