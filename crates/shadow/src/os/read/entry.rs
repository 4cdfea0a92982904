//! One entry of an upper folder, opened without trusting it.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use headstart_overlay_fs::TreeError;
use headstart_workspace_path::WorkspacePath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::os::again;
use crate::reading::{Entry, EntryStat, classify};
use crate::{NotStagedReason, ShadowError};

const PREFIX: &str = "user.overlay.";

/// What kind of layer a folder belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    /// An upper layer, in which the kernel marks what was removed.
    Overlay,
    /// An ordinary folder, in which something that looks like such a mark was made by a command.
    Plain,
}

/// What is at a name.
pub(super) enum Found {
    Whiteout,
    Folder { handle: OwnedFd, opaque: bool, mode: u32 },
    File { content: Vec<u8>, mode: u32, special_bits: bool },
    Link { target: Vec<u8> },
    Other(NotStagedReason),
}

/// Looks at a name in a folder; `None` if nothing is there. A file longer than `limit` is an error.
pub(super) fn look(
    folder: BorrowedFd<'_>,
    name: &[u8],
    path: &WorkspacePath,
    limit: u64,
    layer: Layer,
) -> Result<Option<Found>, ShadowError> {
    let failed = |error: Errno| ShadowError::read(path, &error.into());
    let stat = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let kind = FileType::from_raw_mode(stat.st_mode);
    // Only folders and regular files are opened, because opening a device may have an effect and opening a FIFO may
    // block.
    let handle = match kind {
        FileType::Directory | FileType::RegularFile => match open(folder, name, kind) {
            Ok(handle) => Some(handle),
            Err(Errno::ACCESS) => return Ok(Some(Found::Other(NotStagedReason::Unreadable))),
            Err(error) => return Err(failed(error)),
        },
        _ => None,
    };
    let (stat, attributes, opaque) = match &handle {
        None => (stat, Vec::new(), false),
        Some(handle) => {
            let opened = rustix::fs::fstat(handle).map_err(failed)?;
            if FileType::from_raw_mode(opened.st_mode) != kind {
                return Err(ShadowError::unstaged(path, "it became something else while it was read"));
            }
            let attributes = match layer {
                Layer::Overlay => attributes(handle).map_err(failed)?,
                Layer::Plain => Vec::new(),
            };
            let opaque = attributes.iter().any(|name| name == "opaque") && is_opaque(handle);
            (opened, attributes, opaque)
        }
    };
    let attributes: Vec<&str> = attributes.iter().map(String::as_str).collect();
    let entry =
        classify(seen(&stat, &attributes, opaque)).map_err(|reason| ShadowError::unstaged(path, reason))?;
    Ok(Some(match (entry, handle) {
        (Entry::Directory { opaque, mode }, Some(handle)) => Found::Folder { handle, opaque, mode },
        (Entry::File { mode, special_bits }, Some(handle)) => {
            let content = content(handle, path, limit, stat.st_size.cast_unsigned())?;
            Found::File { content, mode, special_bits }
        }
        (Entry::Link, _) => {
            let target = again(|| rustix::fs::readlinkat(folder, name, Vec::new())).map_err(failed)?;
            Found::Link { target: target.into_bytes() }
        }
        (Entry::Whiteout, _) if layer == Layer::Overlay => Found::Whiteout,
        (Entry::SeveralNames, _) => return Err(ShadowError::HardLinks { path: path.clone() }),
        (Entry::Fifo, _) => Found::Other(NotStagedReason::Fifo),
        (Entry::Socket, _) => Found::Other(NotStagedReason::Socket),
        (Entry::Device | Entry::Whiteout | Entry::Directory { .. } | Entry::File { .. }, _) => {
            Found::Other(NotStagedReason::Device)
        }
    }))
}

fn open(folder: BorrowedFd<'_>, name: &[u8], kind: FileType) -> Result<OwnedFd, Errno> {
    let mut flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    flags.set(OFlags::DIRECTORY, kind == FileType::Directory);
    again(|| rustix::fs::openat(folder, name, flags, Mode::empty()))
}

fn seen<'a>(stat: &Stat, attributes: &'a [&'a str], opaque: bool) -> EntryStat<'a> {
    EntryStat {
        mode: stat.st_mode,
        device: stat.st_rdev,
        len: stat.st_size.cast_unsigned(),
        links: links(stat),
        attributes,
        opaque,
    }
}

/// The number of names, which is narrower on some architectures.
#[expect(clippy::allow_attributes, reason = "what is not needed here is on another architecture")]
fn links(stat: &Stat) -> u64 {
    #[allow(clippy::useless_conversion, reason = "it is one on some architectures")]
    stat.st_nlink.into()
}

/// The names of overlayfs's own attributes, without their prefix.
fn attributes(handle: impl AsFd) -> Result<Vec<String>, Errno> {
    let mut buffer = vec![0_u8; 1024];
    loop {
        match rustix::fs::flistxattr(handle.as_fd(), buffer.as_mut_slice()) {
            Ok(length) => {
                let names = buffer[..length].split(|byte| *byte == 0);
                let names = names.filter_map(|name| std::str::from_utf8(name).ok()?.strip_prefix(PREFIX));
                return Ok(names.map(str::to_owned).collect());
            }
            Err(Errno::RANGE) if buffer.len() < 1 << 20 => buffer.resize(buffer.len() * 4, 0),
            Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
    }
}

pub(in crate::os) fn is_opaque(handle: impl AsFd) -> bool {
    let mut value = [0_u8; 4];
    let length = rustix::fs::fgetxattr(handle.as_fd(), "user.overlay.opaque", value.as_mut_slice());
    length.is_ok_and(|length| &value[..length] == b"y")
}

fn content(handle: OwnedFd, path: &WorkspacePath, limit: u64, len: u64) -> Result<Vec<u8>, ShadowError> {
    let too_long = || TreeError::Quota { path: path.clone(), limit, unit: "bytes in one file" };
    if limit < len {
        return Err(too_long().into());
    }
    let mut content = Vec::new();
    let read = File::from(handle).take(limit.saturating_add(1)).read_to_end(&mut content);
    read.map_err(|error| ShadowError::read(path, &error))?;
    if limit < content.len() as u64 { Err(too_long().into()) } else { Ok(content) }
}
