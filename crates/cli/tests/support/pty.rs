//! Runs a program in a pseudo-terminal, so that a test can type keys and read the screen.

#![allow(clippy::allow_attributes, reason = "every test binary uses another part of this")]
#![allow(dead_code, reason = "every test binary uses another part of this")]

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Much longer than any of the tests takes, so that a busy machine fails none of them.
const PATIENCE: Duration = Duration::from_secs(120);

const UNBROKEN: &str = "works because nobody panics while holding the lock";

/// What the program has written: its bytes, and the screen that they make.
struct Display {
    parser: Mutex<vt100::Parser>,
    written: Mutex<Vec<u8>>,
    changed: Condvar,
}

/// A running program and the terminal in which it runs. Dropping it kills the program.
pub(crate) struct Pty {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    display: Arc<Display>,
    reading: JoinHandle<()>,
}

impl Pty {
    /// Starts a program in a terminal of this size. `TERM` is set; `NO_COLOR` is not, unless the command sets it.
    pub(crate) fn spawn(mut command: CommandBuilder, columns: u16, rows: u16) -> Self {
        command.env("TERM", "xterm-256color");
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let child = pair.slave.spawn_command(command).expect("the program starts");
        let keyboard = pair.master.take_writer().expect("a keyboard");
        let mut output = pair.master.try_clone_reader().expect("a display");
        let parser = Mutex::new(vt100::Parser::new(nonzero(rows), nonzero(columns), 1_000));
        let display = Arc::new(Display { parser, written: Mutex::default(), changed: Condvar::new() });
        let shared = Arc::clone(&display);
        let reading = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails when the program has ended.
            while let Ok(length @ 1..) = output.read(&mut bytes) {
                shared.written.lock().expect(UNBROKEN).extend_from_slice(&bytes[..length]);
                shared.parser.lock().expect(UNBROKEN).process(&bytes[..length]);
                shared.changed.notify_all();
            }
        });
        Self { child, master: pair.master, keyboard, display, reading }
    }

    /// Starts a command in a terminal of this size, with the arguments, folder and environment that it would be spawned
    /// with.
    pub(crate) fn of(command: &std::process::Command, columns: u16, rows: u16) -> Self {
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.cwd(command.get_current_dir().expect("works because a session names a folder"));
        builder.env_clear();
        for (name, value) in command.get_envs() {
            builder.env(name, value.expect("works because a session only sets variables"));
        }
        Self::spawn(builder, columns, rows)
    }

    /// Types keys: `\r` is Enter, `\t` Tab, `\x1b` Esc and `\x03` Ctrl-C.
    pub(crate) fn send(&mut self, keys: &str) {
        self.keyboard
            .write_all(keys.as_bytes())
            .and_then(|()| self.keyboard.flush())
            .expect("the program reads");
    }

    /// Changes the size of the terminal, as a user does by dragging the corner of a window.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.parser().set_size(nonzero(rows), nonzero(columns));
        self.master
            .resize(PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 })
            .expect("a resize");
    }

    /// Waits until the screen contains `text`. Rows that the terminal wrapped count as one line.
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contents().contains(text));
    }

    /// Waits until `holds` is true of the screen; `what` names the condition in the message of a failure.
    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) {
        let parser = self.parser();
        let waiting = |parser: &mut vt100::Parser| !holds(parser.screen());
        let waited = self.display.changed.wait_timeout_while(parser, PATIENCE, waiting);
        let (parser, timeout) = waited.expect(UNBROKEN);
        let contents = parser.screen().contents();
        // The lock is released before the assertion, because a panic that holds it would poison it for the reading
        // thread.
        drop(parser);
        assert!(!timeout.timed_out(), "waited in vain for {what:?}; the screen is:\n{contents}");
    }

    /// The text that is on the screen now.
    pub(crate) fn contents(&self) -> String {
        self.parser().screen().contents()
    }

    /// All rows that were on the screen, in order: those that scrolled out at the top, and those that are there now.
    pub(crate) fn rows(&self) -> Vec<String> {
        let mut parser = self.parser();
        let screen = parser.screen_mut();
        let columns = screen.size().1.get();
        let first = |screen: &vt100::Screen| screen.rows(0, columns).next().unwrap_or_default();
        let mut rows = Vec::new();
        for offset in (1..=screen.scrollback_len()).rev() {
            screen.set_scrollback(offset);
            rows.push(first(screen));
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, columns));
        rows
    }

    /// Everything that the program has written, with its escape codes.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.display.written.lock().expect(UNBROKEN)).into_owned()
    }

    /// The process id of the program.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.process_id().expect("a child that runs has an id")
    }

    /// Sends the program a signal, such as `TERM`.
    pub(crate) fn kill(&self, signal: &str) {
        kill(signal, &self.process_id().to_string());
    }

    /// Waits until the program ends, and returns its exit code. By then everything that it wrote has been read, unless
    /// a process that it started still has the terminal open.
    pub(crate) fn exit_code(&mut self) -> u32 {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("a child") {
                let ended = Instant::now();
                while !self.reading.is_finished() && ended.elapsed() < Duration::from_secs(2) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                return status.exit_code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the program does not end; the screen is:\n{}", self.contents());
    }

    fn parser(&self) -> MutexGuard<'_, vt100::Parser> {
        self.display.parser.lock().expect(UNBROKEN)
    }

    /// The mode of the terminal, such as raw or not, and with or without echo.
    #[cfg(unix)]
    pub(crate) fn mode(&self) -> String {
        format!("{:?}", self.master.get_termios().expect("a terminal").local_flags)
    }
}

fn nonzero(length: u16) -> NonZeroU16 {
    // A terminal that does not know its size says 0, and then 1 is used.
    length.max(1).try_into().expect("works because it is 1 at least")
}

impl Drop for Pty {
    fn drop(&mut self) {
        // The program may have ended already, so a failure is ignored.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a process a signal with the shell's own `kill`, because the program of that name may not be installed.
pub(crate) fn kill(signal: &str, id: &str) {
    let sent = std::process::Command::new("sh").args(["-c", &format!("kill -s {signal} {id}")]).status();
    assert!(sent.expect("the shell starts").success(), "{signal} is not sent");
}
