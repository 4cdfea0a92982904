//! What a hostile command in a view tries, as this user, and also as another user if the tests run as root.
//!
//! The attacks are in `battery.py`, because any call of the system can be made from there. They only write to files
//! that exist already or that this test made.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "views are made of processes and files"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

#[path = "../support/another.rs"]
mod another;
#[path = "../support/clones.rs"]
mod clones;
mod machine;
#[path = "../support/state.rs"]
mod state;

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use headstart_overlay_fs::{ChangeKind, OsTree, Quota};
use headstart_shadow::{Command, End, Prepared, ReadRules, Tier, View};
use libtest_mimic::{Arguments, Failed, Trial};

use crate::machine::Machine;
use crate::state::state;

const BATTERY: &str = include_str!("battery.py");
/// The first argument with which this test starts itself, as another user and with a secret in its environment.
const ALONE: &str = "__alone";
/// The secret, which must not be found anywhere in a view.
const TOKEN: &str = "token-of-the-users-4711";
/// The least number of attacks. Fewer mean that something is wrong with this test.
const ATTACKS: usize = 250;
/// These attacks succeed without a view, which shows that the battery can find something at all.
const CONTROL: [&str; 22] = [
    "outside_append",
    "outside_read",
    "outside_list",
    "outside_through_a_link",
    "secret_.ssh/id_ed25519",
    "secret_.cargo/credentials.toml",
    "secrets_in_the_environment",
    "secrets_in_other_processes",
    "connect_tcp_loopback",
    "connect_unix",
    "connect_unix_abstract",
    "connect_unix_on_path",
    "pipe_on_path_read",
    "pipe_in_a_tools_folder_written",
    "lock_on_path",
    "lock_of_the_system",
    "pages_of_a_pipe",
    "timers_of_the_user",
    "disk_is_taken_at_once",
    "host_process_signal_0",
    "shared_memory_system_v",
    "mounts_that_can_be_written",
];

fn main() -> ExitCode {
    if let Some(code) = headstart_shadow::entry(std::env::args_os()) {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [ALONE, tier, at] = arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        let tier = Tier::ALL.into_iter().find(|known| known.name() == *tier).unwrap();
        let at = Path::new(at);
        nothing_gets_through(at, tier, Way::Command);
        nothing_gets_through(at, tier, Way::Program);
        the_battery_finds_what_is_open();
        return ExitCode::SUCCESS;
    }
    let mut trials = Vec::new();
    for tier in Tier::ALL {
        // Clones need root, and a file system that is made for them.
        let is_long = tier == Tier::Clone;
        let trial = |who: &str, user| {
            Trial::test(format!("{tier}::as_{who}"), move || alone(user, tier)).with_ignored_flag(is_long)
        };
        trials.push(trial("this_user", None));
        if another::is_possible() {
            trials.push(trial("another_user", Some(another::USER)));
        }
    }
    let done = libtest_mimic::run(&Arguments::from_args(), trials);
    clones::remove();
    done.exit_code()
}

/// Runs this test again as this user or another one, from a folder that they can read.
fn alone(user: Option<u32>, tier: Tier) -> Result<(), Failed> {
    let at = if tier == Tier::Clone { clones::folder() } else { Path::new("/var/tmp") };
    let said = another::run(user, |command| {
        command.args([ALONE, tier.name()]).arg(at).env("A_TOKEN", TOKEN);
    })?;
    print_output(&said);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the figures are for whoever reads the test's output")]
fn print_output(bytes: &[u8]) {
    print!("{}", String::from_utf8_lossy(bytes));
}

/// How the attacks are run: as a command, and as a program in a view whose processes were prepared.
#[derive(Debug, Clone, Copy)]
enum Way {
    Command,
    Program,
}

impl Way {
    fn prepared(self) -> Option<Prepared> {
        matches!(self, Self::Program).then(|| Prepared::new(Path::new("/proc/self/exe")).unwrap())
    }
}

fn attacked(way: Way, view: &mut View, command: &Command) -> String {
    let said = match way {
        Way::Command => {
            let output = view.run(command).unwrap();
            assert!(output.end.is_success(), "{:?}: {}", output.end, String::from_utf8_lossy(&output.stdout));
            output.stdout
        }
        Way::Program => {
            let mut program = view.start_program(command).unwrap();
            let mut said = Vec::new();
            program.stdout.read_to_end(&mut said).unwrap();
            // The program's pipes end a moment before it does.
            let end = std::iter::repeat_with(|| view.running().unwrap().ended).find_map(|ended| ended);
            assert_eq!(end, Some(End::Exited { code: 0 }), "{}", String::from_utf8_lossy(&said));
            said
        }
    };
    String::from_utf8_lossy(&said).into_owned()
}

fn nothing_gets_through(at: &Path, tier: Tier, way: Way) {
    let mut machine = Machine::new(at, TOKEN);
    let before = machine.look();
    let options = machine.options_with_room(tier);
    // A careless host may pass a descriptor on to all its children.
    let inherited = rustix::io::dup(fs::File::open(machine.out().join("secret")).unwrap()).unwrap();
    let prepared = way.prepared();
    let process = prepared.as_ref().map(Prepared::process);
    let mut view = View::start_with(&options, prepared)
        .unwrap_or_else(|error| panic!("these tests need views: {error}"));
    assert!(process.is_none_or(|process| process == view.process()), "it was made anew");
    let command = machine.attacks(BATTERY, &[], tier, Duration::from_secs(120));
    let said = attacked(way, &mut view, &command);
    drop(inherited);
    let rows: Vec<serde_json::Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let leaks: Vec<_> = rows.iter().filter(|row| row["outcome"] != "refused").collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    assert!(ATTACKS <= rows.len(), "only {} attacks", rows.len());

    let back = view
        .read_back(&OsTree::open(machine.work()).unwrap(), &ReadRules::new(Quota::default()))
        .unwrap_or_else(|error| panic!("{error}"));
    for change in &back.changes.changes {
        let content = match &change.kind {
            ChangeKind::Write { content, .. } => content.to_vec(),
            ChangeKind::Delete => panic!("{} is gone", change.path),
            _ => Vec::new(),
        };
        let holds = |secret: &[u8]| content.windows(secret.len()).any(|part| part == secret);
        assert!(!holds(TOKEN.as_bytes()) && !holds(b"canary"), "{}", change.path);
    }
    // What git ignores is not in a copy in memory, so the folder may have to be made.
    let made = "mkdir -p target/a/b && mknod target/a/fifo p && chmod 000 target/a && rm -f target/old";
    assert!(view.run(&Command::shell(made, Duration::from_secs(60))).unwrap().end.is_success());
    view.end();
    let room = options.build.unwrap().folder;
    headstart_shadow::remove_folder(&room).unwrap();
    assert!(!room.exists(), "what overlayfs and a command left is removed, whatever its mode");
    assert_eq!(machine.look(), before);
    machine.was_not_reached();
    print_output(
        format!(
            "uid {}, {tier}, {way:?}: {} attacks, 0 leaks\n",
            rustix::process::getuid().as_raw(),
            rows.len()
        )
        .as_bytes(),
    );
}

/// Makes those attacks without a view that do no harm. They must succeed here, because otherwise the battery would find
/// nothing in a view either.
fn the_battery_finds_what_is_open() {
    let machine = Machine::new(Path::new("/var/tmp"), TOKEN);
    let attacks = machine.attacks(BATTERY, &CONTROL, Tier::Kernel, Duration::from_secs(120));
    let mut arguments = attacks.arguments.into_iter();
    let output = std::process::Command::new(arguments.next().unwrap())
        .args(arguments)
        .envs(attacks.environment)
        .current_dir(machine.work())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    for name in CONTROL {
        let row = said.lines().find(|line| line.contains(&format!("\"{name}\"")));
        let row = row.unwrap_or_else(|| panic!("{name} is no attack: {said}"));
        assert!(row.contains("\"LEAK\""), "the battery does not find what is open: {row}");
    }
    assert!(!state(&machine.out()).is_empty());
}
