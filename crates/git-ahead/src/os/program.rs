//! Runs git so that it starts no other program, whatever a repository's configuration, hooks and attributes say.
#![expect(
    clippy::disallowed_types,
    reason = "git is a program of the system, and this is where it is started"
)]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{GitError, ObjectFormat, Setting, no_programs, version_in};

/// The oldest version with which all of this was tried. It needs settings in variables (2.31) and a user's own that can
/// be left out (2.32).
const LEAST: (u32, u32) = (2, 34);
/// The longest time for one git command, before it is ended.
const PATIENCE: Duration = Duration::from_secs(120);
/// The longest answer that is held in memory, in bytes.
const LONGEST_ANSWER: u64 = 256 << 20;

/// The system's git, 2.34 or later.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    path: OsString,
    version: (u32, u32),
}

/// A program that said which git it is.
struct KnownProgram {
    program: PathBuf,
    /// Its inode, length and time.
    stamp: (u64, u64, i64, i64),
    version: (u32, u32),
}

/// The repository that a git command works on.
#[derive(Debug, Clone)]
pub(super) struct RepositoryPaths {
    /// Its `.git` folder, absolute.
    pub(super) folder: PathBuf,
    /// Its work tree.
    pub(super) work_tree: PathBuf,
    /// The index, if it is not the one in the folder.
    pub(super) index: Option<PathBuf>,
    pub(super) format: ObjectFormat,
}

/// A git process that is asked line by line. Dropping it closes its input and waits for its end.
#[derive(Debug)]
pub(super) struct LineSession {
    child: Child,
    command: &'static str,
    errors: File,
    folder: PathBuf,
}

impl Git {
    /// Looks for git in the folders of a `PATH`; relative ones are skipped.
    pub fn find(path: &OsStr) -> Result<Self, GitError> {
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        let none = || GitError::NoGit { reason: "there is no git".to_owned() };
        let found = folders.map(|folder| folder.join("git")).find(|file| is_file(file));
        let mut git = Self { program: found.ok_or_else(none)?, path: path.to_owned(), version: LEAST };
        git.version = git.known_version()?;
        Ok(git)
    }

    /// The version, for which the program is started once in this process, unless it was replaced since.
    fn known_version(&self) -> Result<(u32, u32), GitError> {
        static KNOWN: Mutex<Vec<KnownProgram>> = Mutex::new(Vec::new());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self
            .program
            .metadata()
            .map(|found| (found.ino(), found.size(), found.ctime(), found.ctime_nsec()));
        let stamp = stamp.map_err(failed("version"))?;
        let is_this = |known: &&KnownProgram| known.program == self.program && known.stamp == stamp;
        if let Some(version) = known().iter().find(is_this).map(|known| known.version) {
            return Ok(version);
        }
        let version = self.checked_version()?;
        known().push(KnownProgram { program: self.program.clone(), stamp, version });
        Ok(version)
    }

    /// Its version, major and minor.
    pub const fn version(&self) -> (u32, u32) {
        self.version
    }

    fn checked_version(&self) -> Result<(u32, u32), GitError> {
        let at = RepositoryPaths::new(PathBuf::from("/"), PathBuf::from("/"), ObjectFormat::Sha1);
        let told = self.ask(&at, "version", &["version"], b"")?;
        let told = String::from_utf8_lossy(&told);
        match version_in(&told) {
            Some(version) if LEAST <= version => Ok(version),
            _ => Err(GitError::NoGit { reason: format!("this is {}", told.trim()) }),
        }
    }

    /// All settings that apply in a work tree for a user with these variables (`HOME`, `XDG_CONFIG_HOME`). No program
    /// that a setting names is run for this.
    pub fn settings(
        &self,
        work_tree: &Path,
        users: &[(OsString, OsString)],
    ) -> Result<Vec<Setting>, GitError> {
        let failed = failed("config");
        let mut process = Command::new(&self.program);
        process
            .args(["config", "--list", "-z", "--show-scope", "--show-origin"])
            .env_clear()
            .envs(users.iter().map(|(name, value)| (name, value)))
            .env("PATH", &self.path)
            .env("LC_ALL", "C")
            .env("GIT_PAGER", "cat")
            .current_dir(work_tree)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = process.spawn().map_err(&failed)?;
        let mut answer = Vec::new();
        let read = child.stdout.take().map_or(Ok(()), |output| read_all(output, &mut answer));
        if read.is_err() {
            let _ = child.kill();
        }
        let status = child.wait().map_err(&failed)?;
        read.map_err(&failed)?;
        if !status.success() {
            return Err(refused("config", status.to_string()));
        }
        let mut parts =
            answer.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
        let mut settings = Vec::new();
        while let (Some(scope), Some(origin), Some(setting)) = (parts.next(), parts.next(), parts.next()) {
            let (key, value) = match setting.split_once('\n') {
                Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                None => (setting, None),
            };
            let file = origin.strip_prefix("file:").map(PathBuf::from);
            settings.push(Setting { scope, file, key, value });
        }
        Ok(settings)
    }

    /// Runs a command and returns its whole output.
    pub(super) fn ask(
        &self,
        at: &RepositoryPaths,
        command: &'static str,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        self.try_ask(at, command, arguments, input)?.map_err(|message| refused(command, message))
    }

    /// As [`ask`](Self::ask); if git reports an error, its words are the inner error.
    pub(super) fn try_ask(
        &self,
        at: &RepositoryPaths,
        command: &'static str,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Result<Vec<u8>, String>, GitError> {
        let failed = failed(command);
        let input = if input.is_empty() { Stdio::null() } else { file_with(input).map_err(&failed)?.into() };
        self.finish(at, command, arguments, input, None)
    }

    /// As [`ask`](Self::ask), with a file as the input.
    pub(super) fn feed(
        &self,
        at: &RepositoryPaths,
        command: &'static str,
        arguments: &[&str],
        input: impl Into<Stdio>,
    ) -> Result<Vec<u8>, GitError> {
        let answer = self.finish(at, command, arguments, input.into(), None)?;
        answer.map_err(|message| refused(command, message))
    }

    /// As [`ask`](Self::ask), with a file as the output.
    pub(super) fn pour(
        &self,
        at: &RepositoryPaths,
        command: &'static str,
        arguments: &[&str],
        input: &[u8],
        output: impl Into<Stdio>,
    ) -> Result<(), GitError> {
        let failed = failed(command);
        let input = file_with(input).map_err(&failed)?;
        let answer = self.finish(at, command, arguments, input.into(), Some(output.into()))?;
        answer.map(drop).map_err(|message| refused(command, message))
    }

    /// Starts a git process that is asked line by line.
    pub(super) fn line_session(
        &self,
        at: &RepositoryPaths,
        command: &'static str,
        arguments: &[&str],
    ) -> Result<LineSession, GitError> {
        let failed = failed(command);
        let errors = tempfile::tempfile().map_err(&failed)?;
        let mut process = self.command(at, arguments);
        process.stdin(Stdio::piped()).stdout(Stdio::piped());
        process.stderr(errors.try_clone().map_err(&failed)?);
        let child = process.spawn().map_err(&failed)?;
        Ok(LineSession { child, command, errors, folder: at.folder.clone() })
    }

    fn finish(
        &self,
        at: &RepositoryPaths,
        command: &'static str,
        arguments: &[&str],
        input: Stdio,
        output: Option<Stdio>,
    ) -> Result<Result<Vec<u8>, String>, GitError> {
        let failed = failed(command);
        let errors = tempfile::tempfile().map_err(&failed)?;
        let is_poured = output.is_some();
        let mut process = self.command(at, arguments);
        process.stdin(input).stdout(output.unwrap_or_else(Stdio::piped));
        // The output goes to a file, so the end of this pipe shows when git has ended.
        process.stderr(if is_poured { Stdio::piped() } else { errors.try_clone().map_err(&failed)?.into() });
        let mut child = process.spawn().map_err(&failed)?;
        drop(process);
        let mut answer = Vec::new();
        let read = match (child.stdout.take(), child.stderr.take()) {
            (Some(output), _) => read_all(output, &mut answer),
            (None, Some(errors)) => read_all(errors, &mut answer),
            (None, None) => Ok(()),
        };
        if let Err(error) = read {
            // Its output is not needed any more.
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(error));
        }
        let status = child.wait().map_err(&failed)?;
        if status.success() {
            return Ok(Ok(if is_poured { Vec::new() } else { answer }));
        }
        let words = if is_poured { String::from_utf8_lossy(&answer).into_owned() } else { words_in(&errors) };
        let words = told(&words, &at.folder);
        Ok(Err(if words.is_empty() { status.to_string() } else { words }))
    }

    fn command(&self, at: &RepositoryPaths, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env_clear()
            // A signal to the terminal's process group must not interrupt it.
            .process_group(0)
            .current_dir(&at.work_tree)
            .env("PATH", &self.path)
            .env("HOME", "/")
            .env("LC_ALL", "C")
            .env("GIT_DIR", &at.folder)
            .env("GIT_WORK_TREE", &at.work_tree)
            .env("GIT_ATTR_NOSYSTEM", "1")
            // Attributes are read from the empty tree, so that no file of the work tree names a filter or a driver.
            .env("GIT_ATTR_SOURCE", at.format.empty_tree())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_ALLOC_LIMIT", "2g")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_TERMINAL_PROMPT", "0");
        if let Some(index) = &at.index {
            command.env("GIT_INDEX_FILE", index);
        }
        command.envs(no_programs());
        command
    }
}

impl RepositoryPaths {
    pub(super) fn new(folder: PathBuf, work_tree: PathBuf, format: ObjectFormat) -> Self {
        Self { folder, work_tree, index: None, format }
    }

    pub(super) fn with_index(&self, index: PathBuf) -> Self {
        Self { index: Some(index), ..self.clone() }
    }
}

impl LineSession {
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes a request, and waits for this many lines of answer. If the answer ends early, the error has git's
    /// words.
    pub(super) fn say(&mut self, words: &[u8], lines: usize) -> Result<Vec<String>, GitError> {
        let failed = failed(self.command);
        let Some(input) = self.child.stdin.as_mut() else { return Err(self.ended()) };
        if let Err(error) = input.write_all(words).and_then(|()| input.flush()) {
            return Err(if error.kind() == io::ErrorKind::BrokenPipe { self.ended() } else { failed(error) });
        }
        let mut answer = Vec::new();
        while answer.split(|byte| *byte == b'\n').count() <= lines {
            let Some(output) = self.child.stdout.as_mut() else { return Err(self.ended()) };
            wait_for(&output).map_err(&failed)?;
            let mut buffer = [0; 4096];
            let read = output.read(&mut buffer).map_err(&failed)?;
            if read == 0 {
                return Err(self.ended());
            }
            answer.extend_from_slice(&buffer[..read]);
        }
        Ok(String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect())
    }

    /// Closes its input, and waits until it has ended.
    pub(super) fn end(&mut self) {
        drop(self.child.stdin.take());
        if let Some(output) = self.child.stdout.take() {
            // Reading to the end of the output shows that it has ended; what it says does not matter.
            let _ = read_all(output, &mut Vec::new());
        }
        let _ = self.child.wait();
    }

    fn ended(&mut self) -> GitError {
        self.end();
        let words = told(&words_in(&self.errors), &self.folder);
        refused(self.command, if words.is_empty() { "it ended early".to_owned() } else { words })
    }
}

impl Drop for LineSession {
    fn drop(&mut self) {
        self.end();
    }
}

fn read_all(mut from: impl io::Read + AsFd, into: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        wait_for(&from)?;
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            read => into.extend_from_slice(&buffer[..read]),
        }
        if LONGEST_ANSWER < into.len() as u64 {
            return Err(io::Error::other("the answer is too long"));
        }
    }
}

/// Waits until something can be read, or the end is reached.
fn wait_for(from: &impl AsFd) -> io::Result<()> {
    let limit = Timespec { tv_sec: i64::try_from(PATIENCE.as_secs()).unwrap_or(i64::MAX), tv_nsec: 0 };
    loop {
        let mut watched = [PollFd::new(from, PollFlags::IN)];
        match poll(&mut watched, Some(&limit)) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) => return Err(io::Error::other("it takes too long")),
            outcome => return outcome.map(drop).map_err(io::Error::from),
        }
    }
}

fn file_with(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

fn words_in(mut errors: &File) -> String {
    let mut words = Vec::new();
    let read = errors.rewind().and_then(|()| errors.take(64 * 1024).read_to_end(&mut words));
    if read.is_ok() { String::from_utf8_lossy(&words).into_owned() } else { String::new() }
}

/// Git's words in one line, without control characters for a terminal and without the path of a private folder.
fn told(words: &str, folder: &Path) -> String {
    let words = words.trim().replace(&*folder.to_string_lossy(), ".git").replace('\n', "; ");
    words.chars().filter(|letter| !letter.is_control()).take(500).collect()
}

fn refused(command: &'static str, message: String) -> GitError {
    GitError::Git { command: command.to_owned(), message, source: None }
}

fn failed(command: &'static str) -> impl Fn(io::Error) -> GitError {
    move |error| GitError::Git {
        command: command.to_owned(),
        message: error.to_string(),
        source: Some(error),
    }
}

fn is_file(file: &Path) -> bool {
    rustix::fs::stat(file).is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_file())
}
