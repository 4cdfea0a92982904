use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const QUIET_FOR: Duration = Duration::from_secs(1);
const FRAME: Duration = Duration::from_millis(100);
const FRAMES: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];

/// Shows activity on standard error, from the second second on and as long as the value lives. Without a terminal it
/// does nothing.
#[derive(Debug)]
pub struct Spinner(Option<(Sender<()>, JoinHandle<()>)>);

impl Spinner {
    pub fn start(label: &str) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let label = super::one_line(label);
        let (stop, stopped) = mpsc::channel::<()>();
        let turn = move || {
            let start = Instant::now();
            if !matches!(stopped.recv_timeout(QUIET_FOR), Err(RecvTimeoutError::Timeout)) {
                return;
            }
            for frame in FRAMES.iter().cycle() {
                let seconds = start.elapsed().as_secs();
                // If the terminal is closed, nobody sees the activity.
                let _ = write!(io::stderr().lock(), "\r\x1b[2K{frame} {label} ({seconds} s)");
                if !matches!(stopped.recv_timeout(FRAME), Err(RecvTimeoutError::Timeout)) {
                    break;
                }
            }
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        };
        Self(std::thread::Builder::new().spawn(turn).ok().map(|thread| (stop, thread)))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // A thread that panicked has stopped writing too.
            let _ = thread.join();
        }
    }
}
