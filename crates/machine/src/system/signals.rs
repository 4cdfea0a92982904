//! What asks this process to end: signals on Unix, events of the console on Windows.

#[cfg(unix)]
pub use unix::{Ending, Signals, end_as, stop};
#[cfg(windows)]
pub use windows::{Ending, Signals, end_as, stop};

#[cfg(unix)]
mod unix {
    use std::fmt;
    use std::io;

    use futures::FutureExt;
    use rustix::process::Signal as Sent;
    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// The signals that ask the process to end. They are caught so that the terminal can be restored and nothing is left
    /// behind.
    pub struct Signals {
        interrupt: Signal,
        terminate: Signal,
        hangup: Signal,
    }

    /// One of these signals.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Ending(SignalKind);

    impl Signals {
        pub fn new() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hangup: signal(SignalKind::hangup())?,
            })
        }

        /// Discards Ctrl-C signals that were meant for another program.
        pub fn forget_interrupts(&mut self) {
            while self.interrupt.recv().now_or_never().is_some() {}
        }

        /// Waits for one of the signals.
        pub async fn next(&mut self) -> Ending {
            Ending(tokio::select! {
                _ = self.interrupt.recv() => SignalKind::interrupt(),
                _ = self.terminate.recv() => SignalKind::terminate(),
                _ = self.hangup.recv() => SignalKind::hangup(),
            })
        }
    }

    /// Ends this process by the signal that ended its child, so that the process that waits for this one sees the same
    /// signal.
    pub fn end_as(signal: i32) {
        // If that fails, the exit code still says that something went wrong.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }

    impl Ending {
        /// Whether it is the signal of Ctrl-C.
        pub fn is_interrupt(self) -> bool {
            self.0 == SignalKind::interrupt()
        }

        pub(crate) fn signal(self) -> Sent {
            match self.0 {
                kind if kind == SignalKind::interrupt() => Sent::INT,
                kind if kind == SignalKind::terminate() => Sent::TERM,
                _ => Sent::HUP,
            }
        }

        /// Ends this process as the signal would have without a handler, so that a shell's loop ends too and a script can
        /// notice it.
        pub fn end_process(self) {
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

    /// Stops this process until its shell continues it.
    pub fn stop() -> io::Result<()> {
        signal_hook::low_level::raise(signal_hook::consts::SIGTSTP)
    }
}

#[cfg(windows)]
mod windows {
    use std::fmt;
    use std::io;

    use futures::FutureExt;
    use tokio::signal::windows::{CtrlBreak, CtrlC, CtrlClose, CtrlShutdown};
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};

    /// The events of the console that ask the process to end. They are caught so that the terminal can be restored and
    /// nothing is left behind.
    pub struct Signals {
        interrupt: CtrlC,
        terminate: CtrlBreak,
        close: CtrlClose,
        shutdown: CtrlShutdown,
    }

    /// One of these events.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Ending {
        Interrupt,
        Break,
        Close,
    }

    impl Signals {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self {
                interrupt: ctrl_c()?,
                terminate: ctrl_break()?,
                close: ctrl_close()?,
                shutdown: ctrl_shutdown()?,
            })
        }

        /// Discards Ctrl-C events that were meant for another program.
        pub(crate) fn forget_interrupts(&mut self) {
            while self.interrupt.recv().now_or_never().is_some() {}
        }

        /// Waits for one of the events.
        pub(crate) async fn next(&mut self) -> Ending {
            tokio::select! {
                _ = self.interrupt.recv() => Ending::Interrupt,
                _ = self.terminate.recv() => Ending::Break,
                _ = self.close.recv() => Ending::Close,
                _ = self.shutdown.recv() => Ending::Close,
            }
        }
    }

    impl Ending {
        /// Whether it is the event of Ctrl-C.
        pub(crate) fn is_interrupt(self) -> bool {
            self == Self::Interrupt
        }

        /// Ends this process as the event would have without a handler.
        #[expect(clippy::unused_self, reason = "on Unix the signal is sent")]
        pub fn end_process(self) {
            /// The system's exit code of a process that Ctrl-C ended.
            const STATUS_CONTROL_C_EXIT: u32 = 0xC000_013A;
            std::process::exit(STATUS_CONTROL_C_EXIT.cast_signed());
        }
    }

    /// Nothing: no process is ended by a signal.
    pub fn end_as(_signal: i32) {}

    /// Always an error: no key stops a process.
    pub fn stop() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    impl fmt::Display for Ending {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(match self {
                Self::Interrupt => "Ctrl-C",
                Self::Break => "Ctrl-Break",
                Self::Close => "the end of the console",
            })
        }
    }
}
