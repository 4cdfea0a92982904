use std::io;

use async_trait::async_trait;
use cap_fs_ext::FollowSymlinks;
use cap_std::fs::{Dir, File};
use headstart_workspace_path::WorkspacePath;

use super::disk::system::{self, Errno};
use super::staging::home::is_staging_name;
use super::{OsTree, file_times, metadata_of, os_path, tree_error};
use crate::{Change, DirEntry, EntryKind, Metadata, Tree, TreeError};

/// How often a refused path is tried again, because a folder that is renamed at that moment can make a legal path
/// look as if it led out.
const ATTEMPTS: u32 = 4;

#[async_trait]
impl Tree for OsTree {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        let now = file_times::since_now_ns();
        let found = self.steadily(path, |root| system::stat_below(root, os_path(path)?))?;
        let mut metadata = metadata_of(&found);
        self.clock.date(&mut metadata.fingerprint, now);
        Ok(metadata)
    }

    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        match self.steadily(path, |root| read_file(root, path))? {
            Some(content) => Ok(content),
            None => Err(TreeError::not_a_file(path)),
        }
    }

    async fn look(&self, path: &WorkspacePath) -> Result<(Metadata, Option<Vec<u8>>), TreeError> {
        let now = file_times::since_now_ns();
        let (mut metadata, content) = self.steadily(path, |root| look_at(root, path))?;
        self.clock.date(&mut metadata.fingerprint, now);
        Ok((metadata, content))
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        let mut entries = self.steadily(path, |root| list_folder(root, path))?;
        if self.hidden.is_some() {
            entries.retain(|entry| path.join_bytes(&entry.name).map_or(true, |at| !self.is_reserved(&at)));
        }
        Ok(entries)
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        let found = self.steadily(path, |root| match root.read_link_contents(os_path(path)?) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
            found => found.map(Some),
        })?;
        found.as_deref().map(system::link_to_bytes).ok_or_else(|| TreeError::not_a_link(path))
    }

    async fn check_changes(&self, changes: &[Change]) -> Result<(), TreeError> {
        self.check(changes)
    }
}

impl OsTree {
    fn steadily<T>(
        &self,
        path: &WorkspacePath,
        call: impl Fn(&Dir) -> io::Result<T>,
    ) -> Result<T, TreeError> {
        if self.is_reserved(path) {
            return Err(TreeError::reserved(path));
        }
        let mut attempt = 1;
        loop {
            match call(&self.root).map_err(|error| tree_error(path, &error)) {
                Err(TreeError::Escapes { .. }) if attempt < ATTEMPTS => attempt += 1,
                outcome => return outcome,
            }
        }
    }
}

/// The content of a file; `None` for what is neither file nor folder.
fn read_file(root: &Dir, path: &WorkspacePath) -> io::Result<Option<Vec<u8>>> {
    let file = match root.open_with(os_path(path)?, &system::to_read(FollowSymlinks::Yes)) {
        Err(error) if system::is_no_file(&error) => return Ok(None),
        opened => opened?,
    };
    match read_open(&file)? {
        (found, None) if found.is_dir() => Err(Errno::ISDIR.into()),
        (_, content) => Ok(content),
    }
}

/// Metadata and content with one opening. For what cannot be opened for reading there is only the metadata.
fn look_at(root: &Dir, path: &WorkspacePath) -> io::Result<(Metadata, Option<Vec<u8>>)> {
    let opened = root.open_with(os_path(path)?, &system::to_read(FollowSymlinks::No));
    match opened {
        Ok(file) => {
            let (found, content) = read_open(&file)?;
            Ok((metadata_of(&(&found).into()), content))
        }
        Err(error) => match metadata_of(&system::stat_below(root, os_path(path)?)?) {
            found if found.kind == EntryKind::File => Err(error),
            found => Ok((found, None)),
        },
    }
}

/// Reads the metadata first, so that an edit during the reading of the content shows.
fn read_open(file: &File) -> io::Result<(cap_std::fs::Metadata, Option<Vec<u8>>)> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Ok((found, None));
    }
    let len = usize::try_from(found.len()).map_err(|_| Errno::FBIG)?;
    // Room for one byte more, so that no further call is needed to see that the file has ended.
    let mut content = Vec::with_capacity(len.saturating_add(1));
    loop {
        match system::read_to_spare(file, &mut content) {
            Ok(0) => break,
            Ok(_) if content.len() == len => break,
            Ok(_) => content.reserve(READ_MORE),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok((found, Some(content)))
}

/// How much to read next of a file that grew, or whose length the system does not tell.
const READ_MORE: usize = 32 * 1024;

fn list_folder(root: &Dir, path: &WorkspacePath) -> io::Result<Vec<DirEntry>> {
    let folder = root.open_with(os_path(path)?, &system::to_list())?;
    let mut entries = Vec::new();
    system::for_each_name(&folder, |name, kind| {
        if !matches!(name, b"." | b"..") && !is_staging_name(name) {
            let kind = kind.map_or_else(|| system::kind_of_name(&folder, name), |kind| Ok(Some(kind)))?;
            entries.extend(kind.map(|kind| DirEntry { name: name.to_vec(), kind }));
        }
        Ok(())
    })?;
    // No two entries are equal, so the order is the same with an unstable sort.
    entries.sort_unstable();
    Ok(entries)
}
