use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const QUIET_FOR: Duration = Duration::from_secs(1);
const FRAME: Duration = Duration::from_millis(100);
const FRAMES: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];

/// Shows activity on standard error, from the second second on and as long as the value lives. Without a terminal it
/// does nothing.
#[derive(Debug)]
pub struct Spinner {
    label: Arc<Mutex<String>>,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Spinner {
    pub fn start(label: &str) -> Self {
        let label = Arc::new(Mutex::new(super::one_line(label)));
        if !io::stderr().is_terminal() {
            return Self { label, thread: None };
        }
        let shown = Arc::clone(&label);
        let (stop, stopped) = mpsc::channel::<()>();
        let turn = move || {
            let start = Instant::now();
            if !matches!(stopped.recv_timeout(QUIET_FOR), Err(RecvTimeoutError::Timeout)) {
                return;
            }
            for frame in FRAMES.iter().cycle() {
                let seconds = start.elapsed().as_secs();
                let label = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // If the terminal is closed, nobody sees the activity.
                let _ = write!(io::stderr().lock(), "\r\x1b[2K{frame} {label} ({seconds} s)");
                if !matches!(stopped.recv_timeout(FRAME), Err(RecvTimeoutError::Timeout)) {
                    break;
                }
            }
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        };
        let thread = std::thread::Builder::new().spawn(turn).ok().map(|thread| (stop, thread));
        Self { label, thread }
    }

    /// Says from now on that this goes on.
    pub fn relabel(&self, label: impl FnOnce() -> String) {
        if self.thread.is_some() {
            *self.label.lock().unwrap_or_else(PoisonError::into_inner) = super::one_line(&label());
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            // A thread that panicked has stopped writing too.
            let _ = thread.join();
        }
    }
}
