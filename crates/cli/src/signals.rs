use std::fmt;
use std::io;

use futures::FutureExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask a process to end; caught, so that the terminal is given back and nothing is left behind.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ending(SignalKind);

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Forgets a Ctrl-C that was for somebody else.
    pub(crate) fn forget_interrupts(&mut self) {
        while self.interrupt.recv().now_or_never().is_some() {}
    }

    /// Waits for one of them.
    pub(crate) async fn next(&mut self) -> Ending {
        Ending(tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hangup.recv() => SignalKind::hangup(),
        })
    }
}

/// Ends this process by the signal that ended a child of it, so that whoever waits for this process is told the same.
pub(crate) fn end_as(signal: i32) {
    // Where that fails, the exit code says at least that something did.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

impl Ending {
    /// Whether Ctrl-C sent it.
    pub(crate) fn is_interrupt(self) -> bool {
        self.0 == SignalKind::interrupt()
    }

    /// As something that can be sent.
    pub(crate) fn signal(self) -> rustix::process::Signal {
        use rustix::process::Signal;
        match self.0 {
            kind if kind == SignalKind::interrupt() => Signal::INT,
            kind if kind == SignalKind::terminate() => Signal::TERM,
            _ => Signal::HUP,
        }
    }

    /// Ends this process as the signal would have without us, so that a shell's loop ends with it and a script can tell.
    pub(crate) fn end_process(self) {
        end_as(self.0.as_raw_value());
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(SignalKind::interrupt(), "SIGINT"), (SignalKind::terminate(), "SIGTERM")];
        let name = names.into_iter().find(|(kind, _)| *kind == self.0);
        f.write_str(name.map_or("SIGHUP", |(_, name)| name))
    }
}
