use std::process::Command;

/// The variable that tells a started process what it has to do.
const ORDER: &str = "HEADSTART_TEST_ORDER";

/// A process of this test program that runs one of its ignored tests with an order.
pub(crate) fn process(test: &str, order: &str) -> Command {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", test, "--ignored", "--nocapture"]).env(ORDER, order);
    process
}

/// The same process in namespaces of its own, where it may mount; `setup` is the shell command that mounts.
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

/// The same process as a user whom permission bits stop, even if the tests run as the superuser.
pub(crate) fn process_without_privileges(test: &str, order: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return process(test, order);
    }
    let mut process = Command::new("setpriv");
    process.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(std::env::current_exe().unwrap());
    process.args(["--exact", test, "--ignored", "--nocapture"]).env(ORDER, order);
    process
}

/// The parts of this process's order. There is none if all ignored tests are run.
pub(crate) fn order<const N: usize>() -> Option<[String; N]> {
    let order = std::env::var(ORDER).ok()?;
    Some(order.split('|').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap())
}
