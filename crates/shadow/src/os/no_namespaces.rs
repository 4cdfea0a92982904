//! Why the system makes no namespaces, and what to do about it. The number of an error says little: that a limit is zero
//! comes as "No space left on device".

use std::fs;

use nix::errno::Errno;

use crate::Refusal;

/// Kinds of namespaces that a view has, as in the names of the limits for them.
const KINDS: [&str; 7] = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];

/// The refusal of `unshare`, with the setting that is behind it if one is known.
pub(super) fn refusal(error: Errno) -> Refusal {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let message = why(error, &read).unwrap_or_else(|| error.desc().to_owned());
    Refusal { call: "unshare".to_owned(), about: "user namespace and the others".to_owned(), message }
}

fn why(error: Errno, read: &dyn Fn(&str) -> String) -> Option<String> {
    let is = |path: &str, value: &str| read(path).trim() == value;
    match error {
        Errno::ENOSPC | Errno::EUSERS => {
            let is_zero = |kind: &str| is(&format!("/proc/sys/user/max_{kind}_namespaces"), "0");
            Some(match KINDS.iter().find(|kind| is_zero(kind)) {
                Some(kind) => {
                    let name = format!("user.max_{kind}_namespaces");
                    format!("{name} is 0, so there can be none; `sudo sysctl -w {name}=10000` allows them")
                }
                None => "the limit of namespaces is reached (user.max_user_namespaces and others like it), or that of namespaces in one another"
                    .to_owned(),
            })
        }
        Errno::EPERM => {
            let restricted = "kernel.apparmor_restrict_unprivileged_userns";
            let cloned = "kernel.unprivileged_userns_clone";
            let setting = |name: &str| format!("/proc/sys/{}", name.replace('.', "/"));
            let has_filter = || {
                read("/proc/self/status")
                    .lines()
                    .any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2"))
            };
            if is(&setting(cloned), "0") {
                Some(format!(
                    "{cloned} is 0, so only root may have them; `sudo sysctl -w {cloned}=1` allows them"
                ))
            } else if has_filter() {
                Some("a filter of system calls forbids them, as Docker's does; start the container with `--security-opt seccomp=unconfined --security-opt systempaths=unconfined` (podman: `unmask=ALL`)".to_owned())
            } else if is(&setting(restricted), "1") {
                Some(format!(
                    "AppArmor forbids them, as Ubuntu does since 23.10; `sudo sysctl -w {restricted}=0` allows them"
                ))
            } else {
                Some("Operation not permitted; a chroot forbids them, and so do some containers".to_owned())
            }
        }
        Errno::EINVAL | Errno::ENOSYS => {
            Some(format!("{}; this kernel has not all of them, as in WSL 1 and gVisor", error.desc()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said for an error where these files have this content and all others are missing.
    fn said(error: Errno, files: &[(&str, &str)]) -> String {
        let read = |path: &str| {
            let found = files.iter().find(|(known, _)| *known == path);
            found.map(|(_, content)| (*content).to_owned()).unwrap_or_default()
        };
        why(error, &read).unwrap_or_default()
    }

    #[test]
    fn the_setting_behind_a_refusal_is_named_with_what_changes_it() {
        let clone = ("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
        let apparmor = ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
        let filter = ("/proc/self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n");
        for (error, files, words) in [
            (
                Errno::ENOSPC,
                &[("/proc/sys/user/max_user_namespaces", "0\n")][..],
                "sysctl -w user.max_user_namespaces=",
            ),
            (Errno::ENOSPC, &[("/proc/sys/user/max_net_namespaces", "0\n")], "user.max_net_namespaces is 0"),
            (
                Errno::ENOSPC,
                &[("/proc/sys/user/max_user_namespaces", "7\n")],
                "limit of namespaces is reached",
            ),
            (Errno::EPERM, &[clone], "sysctl -w kernel.unprivileged_userns_clone=1"),
            (Errno::EPERM, &[apparmor], "AppArmor forbids them"),
            (Errno::EPERM, &[filter, apparmor], "seccomp=unconfined"),
            (Errno::EPERM, &[("/proc/self/status", "Seccomp:\t0\n")], "chroot"),
            (Errno::EINVAL, &[], "WSL 1"),
            (Errno::ENOMEM, &[], ""),
        ] {
            let said = said(error, files);
            assert!(said.contains(words) && !said.contains("No space left"), "{error}: {said}");
        }
    }
}
