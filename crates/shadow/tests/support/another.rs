//! Runs a test again as another user, if the user who runs the tests may do that.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use libtest_mimic::Failed;
use rustix::process::getuid;

/// A user without rights.
pub(crate) const USER: u32 = 1000;
static COPYING: Mutex<()> = Mutex::new(());

/// Whether this process may become another user.
pub(crate) fn is_possible() -> bool {
    getuid().is_root()
}

/// Runs this program as this user, or as the present one if there is none, and returns what it printed. The program is
/// copied to a folder that other users can read. `prepare` adds arguments and variables.
pub(crate) fn run(user: Option<u32>, prepare: impl FnOnce(&mut Command)) -> Result<Vec<u8>, Failed> {
    let place = tempfile::Builder::new().prefix("shadow-as-").tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let own = std::env::current_exe().unwrap();
    let program = place.path().join("test");
    // A process that another test starts while the copy is written holds the copy open for a moment, and a program that
    // is open for writing cannot be run.
    let copying = COPYING.lock().unwrap_or_else(PoisonError::into_inner);
    fs::copy(own, &program).unwrap();
    let null = fs::metadata("/dev/null").unwrap().permissions().mode() & 0o777;
    assert!(
        user.is_none() || null == 0o666,
        "/dev/null of this machine is closed to other users: mode {null:o}"
    );
    let mut command = Command::new(program);
    command.current_dir("/");
    prepare(&mut command);
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(copying);
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(Failed::from(format!("{}: {}\n{}", output.status, said(&output.stdout), said(&output.stderr))))
}
