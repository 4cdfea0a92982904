//! Draws what `headstart chat --model replay:demo` shows in a terminal of 80 columns, for the README.
//!
//! The program is the real one, in a pseudo-terminal, and the picture shows its terminal after a few keys. Nothing on
//! the screen is made up. Only the random part of a temporary folder's name is replaced, so that a second run gives the
//! same file.
//!
//! ```text
//! cargo xtask screenshot                 writes docs/terminal.svg
//! screenshot HEADSTART-BINARY FILE.svg   the same, once both are built
//! ```

mod svg;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

const COLUMNS: u16 = 80;
const ROWS: u16 = 40;
const TYPED: &str = "headstart chat --model replay:demo";
/// Far longer than a slow machine needs.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A screen that has not changed for so long is complete.
const SETTLE_TIME: Duration = Duration::from_millis(700);

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [binary, file] = arguments.as_slice() else {
        eprintln!("usage: screenshot HEADSTART-BINARY FILE.svg");
        return ExitCode::from(2);
    };
    match draw(binary, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("screenshot: {error}");
            ExitCode::FAILURE
        }
    }
}

fn draw(binary: &Path, file: &Path) -> Result<(), Failure> {
    let mut terminal = Terminal::start(binary)?;
    terminal.wait_for("most frequent words")?;
    terminal.press("\r")?;
    // The key is pressed after the work is done, as by a user who reads the answer first.
    terminal.wait_for("ready")?;
    terminal.wait_for("add tests for top  [Tab]")?;
    terminal.settle();
    terminal.press("\t")?;
    terminal.wait_for("update the changelog  [Tab]")?;
    terminal.wait_for("ready")?;
    terminal.settle();
    std::fs::write(file, svg::of_screen(terminal.parser.screen(), &same_every_time))?;
    Ok(())
}

/// Replaces the part of a row that differs from run to run.
fn same_every_time(row: &str) -> String {
    const FOLDER: &str = "headstart-demo-";
    match row.split_once(FOLDER) {
        Some((before, after)) if after.is_char_boundary(6) => {
            format!("{before}{FOLDER}XXXXXX{}", &after[6.min(after.len())..])
        }
        _ => row.to_owned(),
    }
}

/// A running program and the screen of its terminal.
struct Terminal {
    parser: vt100::Parser,
    output: Receiver<Vec<u8>>,
    keyboard: Box<dyn Write + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    _home: tempfile::TempDir,
    _master: Box<dyn portable_pty::MasterPty + Send>,
}

impl Terminal {
    /// Starts the program as for a new user: with an empty home folder, no key and no configuration.
    fn start(binary: &Path) -> Result<Self, Failure> {
        let home = tempfile::tempdir()?;
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size)?;
        let mut command = CommandBuilder::new(binary);
        command.args(TYPED.split(' ').skip(1));
        command.env_clear();
        for (name, value) in [("TERM", "xterm-256color"), ("LANG", "C.UTF-8"), ("TMPDIR", "/tmp")] {
            command.env(name, value);
        }
        command.env("HOME", home.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.cwd(home.path());
        let child = pair.slave.spawn_command(command)?;
        let mut reader = pair.master.try_clone_reader()?;
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails when the program has ended.
            while let Ok(length @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        let (rows, columns) = (ROWS.try_into()?, COLUMNS.try_into()?);
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(format!("$ {TYPED}\r\n").as_bytes());
        let keyboard = pair.master.take_writer()?;
        Ok(Self { parser, output, keyboard, child, _home: home, _master: pair.master })
    }

    fn press(&mut self, key: &str) -> Result<(), Failure> {
        self.keyboard.write_all(key.as_bytes())?;
        Ok(self.keyboard.flush()?)
    }

    fn wait_for(&mut self, text: &str) -> Result<(), Failure> {
        let started = Instant::now();
        while !self.parser.screen().contents().contains(text) {
            match self.output.recv_timeout(TIMEOUT.saturating_sub(started.elapsed())) {
                Ok(bytes) => self.parser.process(&bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let screen = self.parser.screen().contents();
                    return Err(format!("waited in vain for {text:?}; the screen is:\n{screen}").into());
                }
            }
        }
        Ok(())
    }

    /// Reads output until no more comes.
    fn settle(&mut self) {
        while let Ok(bytes) = self.output.recv_timeout(SETTLE_TIME) {
            self.parser.process(&bytes);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Ctrl-U and Ctrl-D end the program, so that it removes its sample project. If it does not end, it is killed.
        let _ = self.press("\x15\x04");
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(5) && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
