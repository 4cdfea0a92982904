//! Views that end badly, because a process is killed at any moment, a limit is exceeded, or the kernel refuses a call.
//! No process and no change of the workspace is left of them.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "views are made of processes and files"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

#[path = "../support/another.rs"]
mod another;
mod bombs;
mod kills;
mod refusals;
#[path = "../support/state.rs"]
mod state;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use headstart_shadow::Options;
use libtest_mimic::{Arguments, Failed, Trial};
use tempfile::TempDir;

/// A test that needs its own process, because it changes that process in ways that other tests would not survive.
type Alone = fn(&[String]);

/// The file name of this program if it has to have a second thread before it becomes a process of a view.
pub(crate) const WITH_A_THREAD: &str = "with-a-thread";

/// The first argument of a process for such a test. The test's name follows.
const ALONE: &str = "__alone";

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    if std::env::args().next().is_some_and(|name| name.ends_with(WITH_A_THREAD)) {
        std::thread::spawn(std::thread::park);
    }
    if let Some(code) = headstart_shadow::entry(std::env::args_os()) {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let alone = [kills::ALONE, refusals::ALONE].concat();
    if let [ALONE, name, ..] = arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        let (_, test) = alone.iter().find(|(known, _)| known == name).unwrap();
        test(&arguments[2..]);
        return ExitCode::SUCCESS;
    }
    let trials = [kills::trials(), refusals::trials(), bombs::trials()].into_iter().flatten();
    libtest_mimic::run(&Arguments::from_args(), trials.chain(as_another_user()).collect()).exit_code()
}

/// Runs all tests as another user, because the kernel refuses more to a user without rights and applies other limits.
fn as_another_user() -> Option<Trial> {
    let trial =
        || Trial::test("all_as_another_user", || another::run(Some(another::USER), |_| {}).map(|_| ()));
    another::is_possible().then(trial)
}

/// A trial whose test runs in its own process.
fn alone(name: &'static str, arguments: &[&str]) -> Trial {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let title = format!("{name} {}", arguments.join(" ")).trim_end().replace(' ', "_");
    Trial::test(title, move || {
        let program = std::env::current_exe().unwrap();
        let output = Command::new(program).args([ALONE, name]).args(&arguments).output().unwrap();
        if output.status.success() {
            return Ok(());
        }
        Err(Failed::from(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))))
    })
}

/// A workspace with a few files.
fn workspace() -> TempDir {
    let folder = tempfile::Builder::new().prefix("shadow-").tempdir_in("/var/tmp").unwrap();
    for (name, content) in [("a", "a"), ("b", "b")] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn options(workspace: &Path) -> Options {
    Options::new(workspace)
}
