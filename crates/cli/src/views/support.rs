//! Whether this system gives views, found by making one, and kept for as long as nothing changes on which that rests.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use headstart_shadow::{Options, Support};
use serde::{Deserialize, Serialize};

use super::rooms;

const FILE: &str = "support.json";

/// A yes that was found. A no is never kept: whoever mended what refused wants to see it.
#[derive(Serialize, Deserialize)]
struct Found {
    rests_on: String,
    notes: Vec<String>,
}

/// Whether there are views. What was found before counts where all that it rests on is as it was.
pub(super) fn find(options: &Options, state: Option<&Path>) -> Support {
    let rests_on = rests_on(options);
    let folder = state.map(folder);
    let known = folder.as_ref().and_then(|folder| fs::read(folder.join(FILE)).ok());
    let known = known.and_then(|bytes| serde_json::from_slice::<Found>(&bytes).ok());
    if let Some(known) = known.filter(|known| known.rests_on == rests_on) {
        return Support::Views { tier: "kernel".to_owned(), notes: known.notes };
    }
    let found = headstart_shadow::support(options);
    if let (Support::Views { notes, .. }, Some(folder)) = (&found, folder)
        && crate::store::create_private_folder(&folder).is_ok()
    {
        // Without it the next start tries again.
        let _ = rooms::write(&folder, FILE, &Found { rests_on, notes: notes.clone() });
    }
    found
}

/// Forgets what was found, for a view was refused after all.
pub(super) fn forget(state: &Path) {
    let _ = fs::remove_file(folder(state).join(FILE));
}

fn folder(state: &Path) -> PathBuf {
    state.join("shadow")
}

/// The kernel and its run, the container, the rules for this process and its user, this program, and what a view is made of.
fn rests_on(options: &Options) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let link = |name: &str| fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default();
    let kernel = rustix::system::uname();
    let mut text = format!("{:?} {:?} {options:?}", kernel.release(), kernel.version());
    for path in [
        "/proc/sys/kernel/random/boot_id",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sys/user/max_mnt_namespaces",
        "/proc/sys/kernel/unprivileged_userns_clone",
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "/proc/self/attr/current",
        "/proc/self/mountinfo",
        "/proc/self/uid_map",
    ] {
        text.push_str(&read(path));
    }
    let status = read("/proc/self/status");
    let rules = ["Uid", "Gid", "Cap", "NoNewPrivs", "Seccomp"];
    for line in status.lines().filter(|line| rules.iter().any(|rule| line.starts_with(rule))) {
        text.push_str(line);
    }
    for name in ["user", "mnt", "pid", "net", "cgroup"] {
        text.push_str(&link(name).to_string_lossy());
    }
    if let Ok(program) = fs::metadata("/proc/self/exe") {
        let numbers = (program.dev(), program.ino(), program.len(), program.mtime(), program.mtime_nsec());
        write!(text, "{numbers:?}").expect("works because writing to a String cannot fail");
    }
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
}
