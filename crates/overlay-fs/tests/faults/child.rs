use std::process::Command;

/// What a process that a test starts is to do.
const ORDER: &str = "HEADSTART_TEST_ORDER";

/// This test program once more, to run one of its ignored tests with an order.
pub(crate) fn process(test: &str, order: &str) -> Command {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", test, "--ignored", "--nocapture"]).env(ORDER, order);
    process
}

/// The same in namespaces of its own, where it may mount; `setup` is a shell command that mounts.
#[cfg(target_os = "linux")]
pub(crate) fn process_with_mounts(test: &str, order: &str, setup: &str) -> Command {
    let can = |flags: &&str| {
        let tried = Command::new("unshare").args([*flags, "true"]).output();
        tried.is_ok_and(|ran| ran.status.success())
    };
    let flags = ["-Urm", "-m"].into_iter().find(can).expect(
        "neither `unshare -Urm` nor `unshare -m` works here: run this as root, or let users make user namespaces \
         (sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
    );
    let mut process = Command::new("unshare");
    let program = std::env::current_exe().unwrap();
    let run = format!("{setup} && exec \"$0\" --exact {test} --ignored --nocapture");
    process.args([flags, "sh", "-c", &run]).arg(program).env(ORDER, order);
    process
}

/// The same for a user whom permission bits stop, even where this one is the superuser.
pub(crate) fn process_without_privileges(test: &str, order: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return process(test, order);
    }
    let mut process = Command::new("setpriv");
    process.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(std::env::current_exe().unwrap());
    process.args(["--exact", test, "--ignored", "--nocapture"]).env(ORDER, order);
    process
}

/// The parts of the order of this process. A run of all ignored tests gives none.
pub(crate) fn order<const N: usize>() -> Option<[String; N]> {
    let order = std::env::var(ORDER).ok()?;
    Some(order.split('|').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap())
}
