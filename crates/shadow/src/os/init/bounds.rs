//! Limits of the kernel for the namespaces of a view.

use std::fs;

use crate::os::refused;
use crate::{Limits, Refusal};

/// Forbids further user namespaces: in one of its own a command would have every capability again, over copies of
/// these mounts.
pub(super) fn no_more_user_namespaces() -> Result<(), Refusal> {
    let path = "/proc/sys/user/max_user_namespaces";
    fs::write(path, "0").map_err(|error| refused("write", path, error))
}

/// Limits what commands take of the user's share of inotify, which other programs of theirs need: an editor that gets no
/// more of it watches no files.
pub(super) fn bound_watches() {
    for (name, most) in [("max_inotify_instances", "16"), ("max_inotify_watches", "16384")] {
        // These are the limits of this user namespace. A kernel without them has the user's own limit only.
        let _ = fs::write(format!("/proc/sys/user/{name}"), most);
    }
}

/// Limits the numbers of processes, which also limits root. After the numbers wrap around, the lowest 300 are not
/// used again.
///
/// Only if each process namespace has a limit of its own, because on older kernels this would be the machine's. There
/// root's processes are only counted.
pub(super) fn bound_processes(limits: &Limits) {
    if has_own_bound(&rustix::system::uname().release().to_string_lossy()) {
        let most = limits.processes.saturating_add(300).clamp(400, 4_000_000);
        // If this is refused, the processes are still counted.
        let _ = fs::write("/proc/sys/kernel/pid_max", most.to_string());
    }
}

/// Linux 6.14 has it; one version later is required, because some releases called 6.14 do not.
fn has_own_bound(release: &str) -> bool {
    let mut numbers =
        release.split(|other: char| !other.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    (6, 15) <= (numbers.next().unwrap_or(0_u32), numbers.next().unwrap_or(0_u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_kernels_have_a_bound_for_each_namespace() {
        for (release, has) in [
            ("6.18.44-fc", true),
            ("6.15.0", true),
            ("7.0", true),
            ("6.14.2", false),
            ("6.8.0-45", false),
            ("5.15", false),
            ("", false),
        ] {
            assert_eq!(has_own_bound(release), has, "{release}");
        }
    }
}
