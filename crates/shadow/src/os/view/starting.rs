//! The processes of a view that is being started.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::os::channel::{Channel, Message};
use crate::os::mountinfo::Mounts;
use crate::os::{OUTER, OUTER_ON_NETWORK, again, init, refused};
use crate::{Network, Options, Refusal, RootEntry, ShadowError};

const NO_ENTRY: &str = "its process ended at once; does `main` of the program call headstart_shadow::entry before anything else?";

/// How long the processes of a view may take to end by themselves, before the first of them is killed.
const ENDING: Duration = Duration::from_secs(2);

/// The processes of a view that wait to be told what it shows, started ahead so that a view starts sooner
/// ([`View::start_with`](super::View::start_with)).
///
/// They have namespaces and nothing of any workspace, so they can be used with any options of the same program. They
/// end when this is dropped, or with this process.
#[derive(Debug)]
pub struct Prepared {
    pub(super) starting: Starting,
    pub(super) mounts: Mounts,
    program: PathBuf,
    network: Network,
}

impl Prepared {
    /// Starts the processes without waiting for them. `program` is [`Options::program`].
    pub fn new(program: &Path) -> Result<Self, ShadowError> {
        Self::on(program, Network::Own)
    }

    fn on(program: &Path, network: Network) -> Result<Self, ShadowError> {
        // Read before the processes copy the mounts, so that whatever is mounted later is known to be missing there.
        let mounts = Mounts::read();
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(|error| ShadowError::Refused(refused("socketpair", "", error)))?;
        let child = std::process::Command::new(program)
            .arg(match network {
                Network::Own => OUTER,
                Network::Machine => OUTER_ON_NETWORK,
            })
            .env_clear()
            .current_dir("/")
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| {
                let about = format!("{}, with /dev/null for its output", program.display());
                ShadowError::Refused(refused("execve", about, error))
            })?;
        let starting = Starting { child: Some(child), channel: Some(Channel::new(ours)) };
        Ok(Self { starting, mounts, program: program.to_owned(), network })
    }

    /// The process ID of the first of them, which is [`View::process`](super::View::process) of the view that they
    /// become.
    pub fn process(&self) -> u32 {
        self.starting.child.as_ref().map_or(0, Child::id)
    }

    /// The prepared processes if they fit, otherwise new ones.
    pub(super) fn fitting(prepared: Option<Self>, options: &Options) -> Result<Self, ShadowError> {
        let (program, network) = (&*options.program, options.network);
        let fits = |prepared: &mut Self| {
            let is_same = prepared.program == program && prepared.network == network;
            is_same && prepared.starting.waits() && !prepared.mounts.have_changed()
        };
        let mut prepared = prepared;
        prepared.take_if(fits).map_or_else(|| Self::on(program, network), Ok)
    }
}

/// The processes of a view that is being started. They are ended when this is dropped.
#[derive(Debug)]
pub(super) struct Starting {
    child: Option<Child>,
    channel: Option<Channel>,
}

impl Starting {
    /// Whether its first process has neither reported a refusal nor ended. The channel may tell of its end late,
    /// because a program that another thread has just started shares the other side of the socket for a moment.
    fn waits(&mut self) -> bool {
        let has_ended = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        let Some(channel) = &self.channel else { return false };
        if self.child.as_mut().is_none_or(has_ended) {
            return false;
        }
        let mut said = [PollFd::new(channel, PollFlags::IN)];
        again(|| poll(&mut said, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))) == Ok(0)
    }

    pub(super) fn ready(
        &mut self,
        options: &Options,
        apart: &init::Separation,
        places: &[RootEntry],
    ) -> Result<Message, ShadowError> {
        let channel = self.channel.as_mut().ok_or(ShadowError::Ended)?;
        let fields = init::encode(apart, &options.limits, places);
        let fields: Vec<&[u8]> = fields.iter().map(Vec::as_slice).collect();
        // If the first process refuses at once, its answer counts, and not that the message could not be sent.
        let sent = channel.send(&fields, &[]);
        if let Err(error) = &sent
            && !matches!(error.kind(), std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset)
        {
            let message = format!("it cannot be told what to be: {error}");
            return Err(ShadowError::Protocol { message, source: Some(error.into()) });
        }
        let patience = Timespec::try_from(options.patience).unwrap_or(Timespec { tv_sec: 10, tv_nsec: 0 });
        let mut waited = [PollFd::new(channel, PollFlags::IN)];
        let ready = again(|| poll(&mut waited, Some(&patience)))
            .map_err(|error| ShadowError::unheard(&error.into()))?;
        if ready == 0 {
            return Err(ShadowError::protocol(format!("it was not ready within {:?}", options.patience)));
        }
        match channel.receive() {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(ShadowError::protocol(NO_ENTRY)),
            // It ended without reading what it was sent.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                Err(ShadowError::protocol(NO_ENTRY))
            }
            Err(error) => Err(ShadowError::unheard(&sent.err().unwrap_or(error))),
        }
    }

    pub(super) fn done(
        mut self,
        message: Message,
    ) -> Result<(Channel, Child, std::vec::IntoIter<OwnedFd>), ShadowError> {
        match message.kind() {
            b"ready" => {}
            b"refused" => {
                let (call, about, message) = (message.text(1), message.text(2), message.text(3));
                return Err(ShadowError::Refused(Refusal { call, about, message }));
            }
            other => {
                let message = format!("it began with {:?}", String::from_utf8_lossy(other));
                return Err(ShadowError::protocol(message));
            }
        }
        let (Some(channel), Some(child)) = (self.channel.take(), self.child.take()) else {
            return Err(ShadowError::Ended);
        };
        Ok((channel, child, message.descriptors.into_iter()))
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        drop(self.channel.take());
        if let Some(child) = &mut self.child {
            end_process(child);
        }
    }
}

/// Waits for the process that made the namespaces, which ends when the last process in them has ended. If it does
/// not, it is killed.
pub(super) fn end_process(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let deadline = Instant::now() + ENDING;
    if let Some(handle) = &handle {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(left) = Timespec::try_from(left) else { break };
            match poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&left)) {
                Err(rustix::io::Errno::INTR) => {}
                _ => break,
            }
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}
