use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;

use async_trait::async_trait;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt as _};
use headstart_workspace_path::WorkspacePath;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::clock::Clock;
use super::{OsTree, kind_of, metadata_of, os_path, staging, tree_error};
use crate::{DirEntry, Metadata, Tree, TreeError};

/// How often a refused path is tried again: a folder that is renamed at that moment can make a legal path look
/// as if it led out.
const ATTEMPTS: u32 = 4;

#[async_trait]
impl Tree for OsTree {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        let now = Clock::now();
        let found = self.steadily(path, |root| root.symlink_metadata(os_path(path)))?;
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
        let now = Clock::now();
        let (mut metadata, content) = self.steadily(path, |root| look_at(root, path))?;
        self.clock.date(&mut metadata.fingerprint, now);
        Ok((metadata, content))
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        self.steadily(path, |root| list_folder(root, path))
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        let found = self.steadily(path, |root| match root.read_link_contents(os_path(path)) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
            found => found.map(Some),
        })?;
        found.map(|target| target.into_os_string().into_vec()).ok_or_else(|| TreeError::not_a_link(path))
    }
}

impl OsTree {
    fn steadily<T>(
        &self,
        path: &WorkspacePath,
        call: impl Fn(&Dir) -> io::Result<T>,
    ) -> Result<T, TreeError> {
        if path.names().any(staging::is_staging_name) {
            return Err(TreeError::NotFound { path: path.clone() });
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

/// For reading; opening a FIFO does not wait for a writer.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    options
}

/// The content of a file; `None` for what is neither file nor folder.
fn read_file(root: &Dir, path: &WorkspacePath) -> io::Result<Option<Vec<u8>>> {
    let file = match root.open_with(os_path(path), &options()) {
        // A socket or a device without driver.
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => return Ok(None),
        opened => opened?,
    };
    match read_open(file)? {
        (found, None) if found.is_dir() => Err(Errno::ISDIR.into()),
        (_, content) => Ok(content),
    }
}

/// Metadata and content with one opening; what cannot be opened for reading is only looked at.
fn look_at(root: &Dir, path: &WorkspacePath) -> io::Result<(Metadata, Option<Vec<u8>>)> {
    let opened = root.open_with(os_path(path), options().follow(FollowSymlinks::No));
    let (found, content) = match opened {
        Ok(file) => read_open(file)?,
        Err(error) => match root.symlink_metadata(os_path(path))? {
            found if found.is_file() => return Err(error),
            found => (found, None),
        },
    };
    Ok((metadata_of(&found), content))
}

/// The metadata is taken first: then an edit while the content is read shows.
fn read_open(mut file: File) -> io::Result<(cap_std::fs::Metadata, Option<Vec<u8>>)> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Ok((found, None));
    }
    let mut content = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0));
    file.read_to_end(&mut content)?;
    Ok((found, Some(content)))
}

fn list_folder(root: &Dir, path: &WorkspacePath) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for entry in root.read_dir(os_path(path))? {
        let entry = entry?;
        let name = entry.file_name().into_vec();
        if !staging::is_staging_name(&name) {
            entries.push(DirEntry { name, kind: kind_of(entry.file_type()?) });
        }
    }
    entries.sort();
    Ok(entries)
}
