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
pub(crate) fn process_with_mounts(test: &str, order: &str, setup: &str) -> Command {
    let mut process = Command::new("unshare");
    let program = std::env::current_exe().unwrap();
    let run = format!("{setup} && exec \"$0\" --exact {test} --ignored --nocapture");
    process.args(["-Urm", "sh", "-c", &run]).arg(program).env(ORDER, order);
    process
}

/// Whether this machine lets a test mount. Where it does not, the test says so.
pub(crate) fn can_mount() -> bool {
    let can = Command::new("unshare").args(["-Urm", "true"]).output().is_ok_and(|ran| ran.status.success());
    if !can {
        eprintln!(
            "NOT TESTED: `unshare -Urm` does not work here, so there is no file system to fill or to cross"
        );
    }
    can
}

/// The parts of the order of this process.
pub(crate) fn order<const N: usize>() -> [String; N] {
    let order = std::env::var(ORDER).unwrap();
    order.split('|').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap()
}
