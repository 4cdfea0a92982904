use std::fmt;
use std::io;

use futures::FutureExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask the process to end. They are caught so that the terminal can be restored and nothing is left
/// behind.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// One of these signals.
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

    /// Discards Ctrl-C signals that were meant for another program.
    pub(crate) fn forget_interrupts(&mut self) {
        while self.interrupt.recv().now_or_never().is_some() {}
    }

    /// Waits for one of the signals.
    pub(crate) async fn next(&mut self) -> Ending {
        Ending(tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hangup.recv() => SignalKind::hangup(),
        })
    }
}

/// Ends this process by the signal that ended its child, so that the process that waits for this one sees the same
/// signal.
pub(crate) fn end_as(signal: i32) {
    // If that fails, the exit code still says that something went wrong.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

impl Ending {
    /// Whether it is the signal of Ctrl-C.
    pub(crate) fn is_interrupt(self) -> bool {
        self.0 == SignalKind::interrupt()
    }

    /// The signal in a form that can be sent.
    pub(crate) fn signal(self) -> rustix::process::Signal {
        use rustix::process::Signal;
        match self.0 {
            kind if kind == SignalKind::interrupt() => Signal::INT,
            kind if kind == SignalKind::terminate() => Signal::TERM,
            _ => Signal::HUP,
        }
    }

    /// Ends this process as the signal would have without a handler, so that a shell's loop ends too and a script can
    /// notice it.
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
