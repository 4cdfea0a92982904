//! Whether this system can make views. It is found out by making one, and the answer is stored as long as the
//! conditions that it depends on stay the same.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use headstart_shadow::{Against, BuildRoom, Options, Support, Tier};
use serde::{Deserialize, Serialize};

use super::view_folders;
use crate::system::{FileNumbers as _, Kernel};

const FILE: &str = "support.json";

/// A stored positive answer. A negative one is never stored, because a user who has removed the cause wants to see
/// that.
#[derive(Serialize, Deserialize)]
struct StoredSupport {
    rests_on: String,
    tier: Tier,
    against: Vec<Against>,
    notes: Vec<String>,
}

/// Whether views can be made. A stored answer counts if all conditions that it depends on are the same.
pub(super) fn find(options: &Options, state: Option<&Path>) -> Support {
    let rests_on = rests_on(options);
    let folder = state.map(folder);
    let known = folder.as_ref().and_then(|folder| fs::read(folder.join(FILE)).ok());
    let known = known.and_then(|bytes| serde_json::from_slice::<StoredSupport>(&bytes).ok());
    if let Some(StoredSupport { tier, against, notes, .. }) = known.filter(|known| known.rests_on == rests_on)
    {
        return Support::Views { tier, against, notes };
    }
    let folder = folder.filter(|folder| crate::store::create_private_folder(folder).is_ok());
    let found = probe(options, folder.as_deref());
    if let (Support::Views { tier, against, notes }, Some(folder)) = (&found, folder) {
        let (tier, against, notes) = (*tier, against.clone(), notes.clone());
        // If it cannot be stored, the next start tries again.
        let _ = view_folders::write(&folder, FILE, &StoredSupport { rests_on, tier, against, notes });
    }
    found
}

/// Tries to make a view, with a room for a clone if there is a folder for it outside the workspace.
fn probe(options: &Options, folder: Option<&Path>) -> Support {
    let is_inside = |folder: &Path| {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real(folder).starts_with(real(&options.workspace))
    };
    let room = folder.filter(|folder| !is_inside(folder));
    let room = room.and_then(|folder| tempfile::Builder::new().prefix(".try-").tempdir_in(folder).ok());
    let build = room.as_ref().map(|room| BuildRoom {
        folder: room.path().to_owned(),
        layers: Vec::new(),
        bytes: u64::MAX,
        measured: room.path().to_owned(),
    });
    headstart_shadow::support(&Options { build, ..options.clone() })
}

/// Removes the stored answer, because a view was refused although the answer was positive.
pub(super) fn forget(state: &Path) {
    let _ = fs::remove_file(folder(state).join(FILE));
}

fn folder(state: &Path) -> PathBuf {
    state.join("shadow")
}

/// The conditions that the answer depends on: the kernel and its run, the container, the rules for this process and its
/// user, this program, and what a view is made of.
fn rests_on(options: &Options) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let link = |name: &str| fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default();
    let kernel = Kernel::of_system();
    let mut text = format!("{:?} {:?} {options:?}", kernel.release, kernel.version);
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
