//! A program in the view of a second agent that replaces the one by which the agent runs commands. Each command waits
//! until it has been judged, and none runs without permission.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use headstart_machine::system::{PrivateFile as _, make_executable, open_plain};
use headstart_overlay_fs::Process;

/// The beginning of the names of stand-in folders; the id of their process follows.
const PREFIX: &str = "stand-in-";
/// How often the folder of questions is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The most bytes of a command.
const MAX_COMMAND_BYTES: u64 = 1 << 20;

/// The folder of a stand-in. Dropping this removes it.
#[derive(Debug)]
pub(super) struct StandIn {
    folder: PathBuf,
}

/// A command that waits for permission.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PendingCommand {
    /// The name under which it is answered.
    pub(super) name: String,
    /// The working directory, and then the words of the command.
    pub(super) words: Vec<String>,
}

impl StandIn {
    /// A stand-in for a program of this name, in the proxy's folder. Folders that processes left there when they died
    /// are removed.
    pub(super) fn new(folder: &Path, program: &str) -> io::Result<Self> {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse().ok());
            if number.is_some_and(|number| !Process::with_id(number).is_alive()) {
                // If this fails, the next start tries again.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let folder = folder.join(format!("{PREFIX}{}", std::process::id()));
        for part in ["programs", "questions", "answers"] {
            fs::DirBuilder::new().recursive(true).private().create(folder.join(part))?;
        }
        let made = Self { folder };
        let file = made.programs().join(program);
        fs::write(&file, include_str!("stand_in.sh"))?;
        make_executable(&file)?;
        Ok(made)
    }

    /// The folder of programs, which comes first on the search path.
    pub(super) fn programs(&self) -> PathBuf {
        self.folder.join("programs")
    }

    /// The folder in which the view puts its questions.
    pub(super) fn questions(&self) -> PathBuf {
        self.folder.join("questions")
    }

    /// The folder of the answers, to which no view can write.
    pub(super) fn answers(&self) -> PathBuf {
        self.folder.join("answers")
    }

    pub(super) fn answer(&self, name: &str, may_run: bool) {
        let (new, file) = (self.folder.join("new"), self.answers().join(name));
        let write = || -> io::Result<()> {
            fs::write(&new, if may_run { "yes\n" } else { "no\n" })?;
            fs::rename(&new, &file)
        };
        if let Err(error) = write() {
            // Without an answer the command does not run.
            tracing::warn!(%error, "a command is not answered");
        }
    }

    /// Reports each waiting command until the returned value is dropped. Earlier questions are removed.
    pub(super) fn listen(self: &Arc<Self>, tell: impl Fn(PendingCommand) + Send + 'static) -> ListenerGuard {
        for folder in [self.questions(), self.answers()] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
            }
        }
        let over = Arc::new(AtomicBool::new(false));
        let (ended, weak) = (Arc::clone(&over), Arc::downgrade(self));
        std::thread::spawn(move || {
            let mut reported = BTreeSet::new();
            while !ended.load(Ordering::Relaxed) && report_pending(&weak, &mut reported, &tell) {
                std::thread::sleep(POLL_INTERVAL);
            }
        });
        ListenerGuard(over)
    }
}

/// Stops listening when it is dropped.
pub(super) struct ListenerGuard(Arc<AtomicBool>);

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reports commands that were not reported yet. Returns `false` once the stand-in has been dropped.
fn report_pending(
    stand_in: &Weak<StandIn>,
    reported: &mut BTreeSet<String>,
    tell: &impl Fn(PendingCommand),
) -> bool {
    let Some(stand_in) = stand_in.upgrade() else { return false };
    for entry in fs::read_dir(stand_in.questions()).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        // A file that is not complete yet is read the next time.
        if !reported.contains(&name)
            && let Ok(words) = words(&entry.path().join("words"))
        {
            reported.insert(name.clone());
            tell(PendingCommand { name, words });
        }
    }
    true
}

/// The words in a file that a view wrote. Anything but such a file is an error.
fn words(path: &Path) -> io::Result<Vec<String>> {
    let Some(file) = open_plain(path)? else { return Ok(Vec::new()) };
    let mut content = Vec::new();
    if MAX_COMMAND_BYTES < file.take(MAX_COMMAND_BYTES + 1).read_to_end(&mut content)? as u64 {
        return Ok(Vec::new());
    }
    let Some(text) = std::str::from_utf8(&content).ok().and_then(|text| text.strip_suffix('\0')) else {
        return Ok(Vec::new());
    };
    Ok(text.split('\0').map(str::to_owned).collect())
}

impl Drop for StandIn {
    fn drop(&mut self) {
        // If this fails, the next start tries again.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};
    use std::sync::mpsc::channel;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_command_runs_once_it_is_allowed_and_never_else() {
        let kept = tempfile::tempdir().unwrap();
        fs::create_dir(kept.path().join("stand-in-999999999")).unwrap();
        let stand_in = Arc::new(StandIn::new(kept.path(), "wrap").unwrap());
        assert!(!kept.path().join("stand-in-999999999").exists(), "nobody owns it");
        let (tell, questions) = channel();
        let listening = stand_in.listen(move |question| drop(tell.send(question)));
        let run = |words: &[&str]| {
            let mut command = Command::new(stand_in.programs().join("wrap"));
            let command = command.args(words).current_dir(kept.path()).stdin(Stdio::null());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let folder = kept.path().canonicalize().unwrap().display().to_string();
        for may_run in [true, false] {
            let child = run(&["--some", "option", "--", "echo", "a b", "--", "c"]);
            let question = questions.recv_timeout(Duration::from_secs(20)).unwrap();
            assert_eq!(question.words, [&folder, "echo", "a b", "--", "c"]);
            stand_in.answer(&question.name, may_run);
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.stdout, if may_run { &b"a b -- c\n"[..] } else { b"" });
            assert_eq!(output.status.code(), Some(if may_run { 0 } else { 126 }));
        }
        // Starts it as a program that depends on the name by which it is called.
        let child = run(&["--argv0", "sh", "--unshare-user", "--", "/bin/bash", "-c", "echo $0"]);
        let question = questions.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(question.words, [&folder, "/bin/bash", "-c", "echo $0"]);
        stand_in.answer(&question.name, true);
        let output = child.wait_with_output().unwrap();
        assert!(output.stdout.ends_with(b"/sh\n"), "{output:?}");
        for words in [&["--help"][..], &[], &["--"], &["--x"]] {
            let output = run(words).wait_with_output().unwrap();
            assert_eq!(output.status.success(), words == ["--help"], "{words:?}");
        }
        // Anything else that a view puts there is no command, and delays nothing.
        symlink(kept.path(), stand_in.questions().join("link")).unwrap();
        fs::create_dir(stand_in.questions().join("odd")).unwrap();
        symlink("/etc/passwd", stand_in.questions().join("odd/words")).unwrap();
        fs::create_dir(stand_in.questions().join("large")).unwrap();
        fs::write(stand_in.questions().join("large/words"), vec![b'x'; 2 << 20]).unwrap();
        let question = questions.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(question, PendingCommand { name: "large".to_owned(), words: Vec::new() });
        drop(listening);
        drop(stand_in);
        // Whoever listened may look for a last time, and then removes the folder.
        let began = Instant::now();
        while 0 < fs::read_dir(kept.path()).unwrap().count() {
            assert!(began.elapsed() < Duration::from_secs(20), "the folder stays");
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
