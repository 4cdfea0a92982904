//! Who had the commit lock last: a process that had it knows everything that was done here.

use std::ffi::OsStr;
use std::io;

use super::home::StagingHome;
use crate::EntryKind;
use crate::os::OsTree;
use crate::os::disk::calls::{self, Stat};
use crate::os::disk::seen::{look_if_there, place};
use crate::os::disk::system::{Errno, OpenFile};

/// A file beside the staging folders of a workspace. Every process that takes the commit lock writes a random token
/// into it.
pub(in crate::os) const TOKEN_FILE: &str = "turn";

/// Random, so that no other process writes the same.
type Token = [u8; 16];

/// The token that this tree wrote last, and its file.
#[derive(Debug)]
pub(in crate::os) struct LockToken {
    file: OpenFile,
    /// Device and inode.
    identity: (u64, u64),
    token: Token,
}

impl OsTree {
    /// Writes a new token, and returns whether the last one was this tree's too. The caller must have the commit
    /// lock.
    ///
    /// Only living processes use it, and after a loss of power there are none, so it is never synced.
    pub(in crate::os) fn renew_token(&self, home: &StagingHome) -> io::Result<bool> {
        let mut last = self.token();
        let there = look_if_there(place(&home.folder, TOKEN_FILE))?;
        let before = last.take().filter(|ours| there.is_some_and(|there| ours.is_in(&there)));
        let (mut ours, before) = match before {
            Some(ours) => {
                let token = ours.token;
                (ours, Some(token))
            }
            None => match LockToken::open(home, there) {
                // The file system is read-only, so nobody can commit from here.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::ROFS) => return Ok(false),
                opened => (opened?, None),
            },
        };
        let is_whole = calls::read_start(&ours.file, &mut ours.token)?;
        let is_ours = is_whole && before == Some(ours.token);
        getrandom::fill(&mut ours.token).map_err(|error| io::Error::other(error.to_string()))?;
        calls::overwrite(&ours.file, OsStr::new(TOKEN_FILE), &ours.token)?;
        *last = Some(ours);
        Ok(is_ours)
    }
}

impl LockToken {
    fn open(home: &StagingHome, there: Option<Stat>) -> io::Result<Self> {
        let at = place(&home.folder, TOKEN_FILE);
        let file = match there {
            Some(found) if found.kind == EntryKind::File && found.links == 1 => calls::open_to_write(at)?,
            Some(_) => return Err(io::Error::other(format!("{} is none of ours", home.told(TOKEN_FILE)))),
            None => calls::create(at, 0o600, b"")?,
        };
        let Stat { device, inode, .. } = calls::look_at(&file)?;
        Ok(Self { file, identity: (device, inode), token: Token::default() })
    }

    fn is_in(&self, there: &Stat) -> bool {
        self.identity == (there.device, there.inode)
    }
}
