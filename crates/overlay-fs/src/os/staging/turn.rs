//! Who had the commit lock last: a process that had it knows everything that was done here.

use std::ffi::OsStr;
use std::io;

use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::home::Home;
use crate::EntryKind;
use crate::os::OsTree;
use crate::os::disk::calls::{self, Found};
use crate::os::disk::seen::{look_if_there, place};

/// A file beside the staging folders of a workspace. Every process that takes the commit lock writes a random token
/// into it.
pub(in crate::os) const TURN: &str = "turn";

/// Random, so that no other process writes the same.
type Token = [u8; 16];

/// The token that this tree wrote last, and its file.
#[derive(Debug)]
pub(in crate::os) struct Turn {
    file: OwnedFd,
    /// Device and inode.
    identity: (u64, u64),
    token: Token,
}

impl OsTree {
    /// Writes a new token, and returns whether the last one was this tree's too. The caller must have the commit
    /// lock.
    ///
    /// Only living processes use it, and after a loss of power there are none, so it is never synced.
    pub(in crate::os) fn take_turn(&self, home: &Home) -> io::Result<bool> {
        let mut last = self.turn();
        let there = look_if_there(place(&home.folder, TURN))?;
        let before = last.take().filter(|turn| there.is_some_and(|there| turn.is_in(&there)));
        let (mut turn, before) = match before {
            Some(turn) => {
                let token = turn.token;
                (turn, Some(token))
            }
            None => match Turn::open(home, there) {
                // The file system is read-only, so nobody can commit from here.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::ROFS) => return Ok(false),
                opened => (opened?, None),
            },
        };
        let is_whole = calls::read_start(&turn.file, &mut turn.token)?;
        let is_ours = is_whole && before == Some(turn.token);
        getrandom::fill(&mut turn.token).map_err(|error| io::Error::other(error.to_string()))?;
        calls::overwrite(&turn.file, OsStr::new(TURN), &turn.token)?;
        *last = Some(turn);
        Ok(is_ours)
    }
}

impl Turn {
    fn open(home: &Home, there: Option<Found>) -> io::Result<Self> {
        let at = place(&home.folder, TURN);
        let file = match there {
            Some(found) if found.kind == EntryKind::File && found.links == 1 => calls::open_to_write(at)?,
            Some(_) => return Err(io::Error::other(format!("{} is none of ours", home.told(TURN)))),
            None => calls::create(at, 0o600, b"")?,
        };
        let Found { device, inode, .. } = calls::look_at(&file)?;
        Ok(Self { file, identity: (device, inode), token: Token::default() })
    }

    fn is_in(&self, there: &Found) -> bool {
        self.identity == (there.device, there.inode)
    }
}
