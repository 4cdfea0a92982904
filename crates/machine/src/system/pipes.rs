//! Pipes to and from other processes. Windows can wait for such a pipe only in a thread.

use std::io::{self, PipeReader, PipeWriter};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The writing end of a pipe from which a program reads.
#[cfg(unix)]
pub fn input_pipe(writer: PipeWriter) -> io::Result<impl AsyncWrite + Send + Unpin> {
    tokio::net::unix::pipe::Sender::from_owned_fd(writer.into())
}

/// The writing end of a pipe from which a program reads.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "on Unix the pipe has to be registered")]
pub fn input_pipe(writer: PipeWriter) -> io::Result<impl AsyncWrite + Send + Unpin> {
    let handle = std::os::windows::io::OwnedHandle::from(writer);
    Ok(tokio::fs::File::from_std(handle.into()))
}

/// The reading end of a pipe into which a command writes.
#[cfg(unix)]
pub struct OutputPipe(tokio::net::unix::pipe::Receiver);

/// The reading end of a pipe into which a command writes.
#[cfg(windows)]
pub struct OutputPipe(tokio::fs::File);

impl OutputPipe {
    #[cfg(unix)]
    pub(crate) fn new(reader: PipeReader) -> io::Result<Self> {
        tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into()).map(Self)
    }

    #[cfg(windows)]
    #[expect(clippy::unnecessary_wraps, reason = "on Unix the pipe has to be registered")]
    pub(crate) fn new(reader: PipeReader) -> io::Result<Self> {
        let handle = std::os::windows::io::OwnedHandle::from(reader);
        Ok(Self(tokio::fs::File::from_std(handle.into())))
    }
}

impl AsyncRead for OutputPipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.0).poll_read(context, buffer) {
            // Windows reports the end of a pipe as an error.
            Poll::Ready(Err(error)) if cfg!(windows) && error.kind() == io::ErrorKind::BrokenPipe => {
                Poll::Ready(Ok(()))
            }
            read => read,
        }
    }
}
