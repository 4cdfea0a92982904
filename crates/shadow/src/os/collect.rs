//! Runs one command, as seen from the caller: sends it, reads what it prints, waits for its end.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::channel::Channel;
use crate::{Command, End, Spent, Stream, Streams};

/// What became of a command.
pub(super) enum Collected {
    Done {
        end: End,
        without_route: u64,
        spent: Spent,
    },
    NotStarted(String),
    TimeUp,
    /// The view has ended.
    Gone,
}

pub(super) fn collect(
    channel: &mut Channel,
    directory: &Path,
    command: &Command,
    sink: &mut dyn FnMut(Stream, &[u8]),
) -> io::Result<Collected> {
    // A time limit beyond the clock's range is no limit.
    let deadline = Instant::now().checked_add(command.time);
    let (out, out_writer) = io::pipe()?;
    let (err, err_writer) = match command.streams {
        Streams::Joined => (None, out_writer.try_clone()?),
        Streams::Apart => {
            let (reader, writer) = io::pipe()?;
            (Some(reader), writer)
        }
    };
    let mut pipes: Vec<(Stream, OwnedFd)> = vec![(Stream::Out, out.into())];
    pipes.extend(err.map(|err| (Stream::Err, err.into())));
    match send(channel, "run", directory, command, &[out_writer.as_fd(), err_writer.as_fd()]) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Ok(Collected::NotStarted(error.to_string()));
        }
        Err(error) if is_gone(&error) => return Ok(Collected::Gone),
        Err(error) => return Err(error),
    }
    drop((out_writer, err_writer));

    let mut done = None;
    let mut buffer = vec![0; 64 << 10];
    // Once the answer is there, no process is left that could still write.
    while done.is_none() || !pipes.is_empty() {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut waited: Vec<PollFd<'_>> =
            pipes.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN)).collect();
        if done.is_none() {
            waited.push(PollFd::new(channel, PollFlags::IN));
        }
        match poll(&mut waited, left.as_ref()) {
            Ok(0) => return Ok(Collected::TimeUp),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = waited.iter().map(|waited| !waited.revents().is_empty()).collect();
        drop(waited);
        if done.is_none() && ready.last() == Some(&true) {
            match answer(channel)? {
                Some(Collected::Done { end, without_route, spent }) => {
                    done = Some((end, without_route, spent));
                }
                Some(other) => return Ok(other),
                None => return Ok(Collected::Gone),
            }
        }
        for at in (0..pipes.len()).rev().filter(|at| ready[*at]) {
            let (stream, pipe) = &pipes[at];
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => drop(pipes.remove(at)),
                Ok(count) => sink(*stream, &buffer[..count]),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // A command that never stops printing keeps the loop from waiting, so the time is checked here too.
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) && done.is_none() {
            return Ok(Collected::TimeUp);
        }
    }
    let (end, without_route, spent) = done.unwrap_or((End::TimeUp, 0, Spent::default()));
    Ok(Collected::Done { end, without_route, spent })
}

/// Sends the request to run a command or to start a program.
pub(super) fn send(
    channel: &mut Channel,
    kind: &str,
    directory: &Path,
    command: &Command,
    pipes: &[std::os::fd::BorrowedFd<'_>],
) -> io::Result<()> {
    let count = command.arguments.len().to_string();
    let variables: Vec<Vec<u8>> = command
        .environment
        .iter()
        .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
        .collect();
    let mut fields: Vec<&[u8]> = vec![kind.as_bytes(), directory.as_os_str().as_bytes(), count.as_bytes()];
    fields.extend(command.arguments.iter().map(|argument| argument.as_bytes()));
    fields.extend(variables.iter().map(Vec::as_slice));
    channel.send(&fields, pipes)
}

fn answer(channel: &mut Channel) -> io::Result<Option<Collected>> {
    let message = match channel.receive() {
        Ok(Some(message)) => message,
        Ok(None) => return Ok(None),
        Err(error) if is_gone(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "an answer that cannot be read");
    Ok(Some(match message.kind() {
        b"failed" => Collected::NotStarted(message.text(1)),
        b"done" => {
            let number: i32 = message.number(2).ok_or_else(wrong)?;
            let end = end(&message.text(1), number).ok_or_else(wrong)?;
            let processor = Duration::from_micros(message.number(4).ok_or_else(wrong)?);
            let spent = Spent { processor, peak_bytes: message.number(5).ok_or_else(wrong)? };
            Collected::Done { end, without_route: message.number(3).ok_or_else(wrong)?, spent }
        }
        _ => return Err(wrong()),
    }))
}

/// How a command ended, from the words of the first process.
pub(super) fn end(word: &str, number: i32) -> Option<End> {
    Some(match word {
        "exited" => End::Exited { code: number },
        "killed" => End::Killed { signal: number },
        "memory" => End::Memory,
        "processes" => End::Processes,
        _ => return None,
    })
}

pub(super) fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected | UnexpectedEof)
}
