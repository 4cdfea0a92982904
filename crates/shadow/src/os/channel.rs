//! Messages between the caller and a view's first process: lists of byte strings without NUL, sent together with file
//! descriptors.

use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

use super::again;

/// The most bytes in one message. On every Linux, the arguments and the environment of one command are less.
const LONGEST: usize = 16 << 20;
const MOST_DESCRIPTORS: usize = 4;

/// A received message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) fields: Vec<Vec<u8>>,
    pub(super) descriptors: Vec<OwnedFd>,
}

impl Message {
    /// The first field.
    pub(super) fn kind(&self) -> &[u8] {
        self.fields.first().map_or(&[], Vec::as_slice)
    }

    /// The field at this index as text; empty if it does not exist.
    pub(super) fn text(&self, at: usize) -> String {
        self.fields.get(at).map(|field| String::from_utf8_lossy(field).into_owned()).unwrap_or_default()
    }

    /// The field at this index as a number.
    pub(super) fn number<T: std::str::FromStr>(&self, at: usize) -> Option<T> {
        std::str::from_utf8(self.fields.get(at)?).ok()?.parse().ok()
    }
}

/// One end of the socket.
#[derive(Debug)]
pub(super) struct Channel(UnixStream);

impl Channel {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self(UnixStream::from(socket))
    }

    /// Another handle to the same end.
    pub(super) fn handle(&self) -> io::Result<UnixStream> {
        self.0.try_clone()
    }

    pub(super) fn send(&mut self, fields: &[&[u8]], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        if fields.iter().any(|field| field.contains(&0)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a NUL byte in it"));
        }
        let payload = fields.join(&0);
        let length = u32::try_from(payload.len()).ok().filter(|length| *length as usize <= LONGEST);
        let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is too long"))?;
        let header = length.to_le_bytes();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many descriptors"));
        }
        // The descriptors are sent with the first byte. A header of four bytes is never split if the socket is empty.
        let slices = [IoSlice::new(&header)];
        let sent = again(|| rustix::net::sendmsg(&self.0, &slices, &mut control, SendFlags::NOSIGNAL))?;
        self.0.write_all(&header[sent..])?;
        self.0.write_all(&payload)
    }

    /// The next message; `None` if the other side is gone.
    pub(super) fn receive(&mut self) -> io::Result<Option<Message>> {
        let mut header = [0_u8; 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got = again(|| {
            let mut slices = [IoSliceMut::new(&mut header)];
            rustix::net::recvmsg(&self.0, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC)
        })?
        .bytes;
        if got == 0 {
            return Ok(None);
        }
        let descriptors = control
            .drain()
            .flat_map(|message| match message {
                RecvAncillaryMessage::ScmRights(rights) => rights.collect::<Vec<_>>(),
                _ => Vec::new(),
            })
            .collect();
        self.0.read_exact(&mut header[got..])?;
        let length = u32::from_le_bytes(header) as usize;
        if LONGEST < length {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
        }
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload)?;
        let fields = payload.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        Ok(Some(Message { fields, descriptors }))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Channel, Channel) {
        let (one, other) = UnixStream::pair().unwrap();
        (Channel(one), Channel(other))
    }

    #[test]
    fn messages_arrive_with_their_descriptors() {
        let (mut one, mut other) = pair();
        let (reader, mut writer) = io::pipe().unwrap();
        one.send(&[b"run", b"", b"\xff"], &[reader.as_fd()]).unwrap();
        one.send(&[b"second"], &[]).unwrap();
        let message = other.receive().unwrap().unwrap();
        assert_eq!(message.fields, [&b"run"[..], b"", b"\xff"]);
        writer.write_all(b"x").unwrap();
        drop(writer);
        let mut read = String::new();
        std::fs::File::from(message.descriptors.into_iter().next().unwrap())
            .read_to_string(&mut read)
            .unwrap();
        assert_eq!(read, "x");
        assert_eq!(other.receive().unwrap().unwrap().kind(), b"second");
        drop(one);
        assert!(other.receive().unwrap().is_none());
    }

    #[test]
    fn what_would_be_understood_otherwise_is_not_sent() {
        let (mut one, mut other) = pair();
        assert!(one.send(&[b"a\0b"], &[]).is_err());
        drop(one);
        assert!(other.receive().unwrap().is_none());
        let (one, mut other) = pair();
        (&one.0).write_all(&u32::MAX.to_le_bytes()).unwrap();
        assert!(other.receive().is_err());
    }
}
