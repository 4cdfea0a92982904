//! Whichever process of a view is killed, and whenever, no process is left.

use std::fs;
use std::io::Read as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use headstart_shadow::{Command, Options, Prepared, ShadowError, Tier, View};
use libtest_mimic::Trial;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, wait};

use crate::state::state;
use crate::{Alone, PATIENCE, alone, options, workspace};

pub(crate) const ALONE: &[(&str, Alone)] = &[("killed", killed), ("caller", caller)];

/// The number of moments. They are random times after the start of a view and its command, and the same in every run.
const MOMENTS: u32 = 50;
const SEED: u64 = 4711;
const LATEST: Duration = Duration::from_millis(40);

pub(crate) fn trials() -> Vec<Trial> {
    let of = |tier: Tier, who: &[&str]| -> Vec<Trial> {
        who.iter().map(|who| alone("killed", &[who, tier.name()])).collect()
    };
    let overlay = of(Tier::Kernel, &["the_caller", "the_process_that_waits", "the_first_process"]);
    overlay.into_iter().chain(of(Tier::Copy, &["the_caller", "the_first_process"])).collect()
}

fn tier(name: &str) -> Tier {
    Tier::ALL.into_iter().find(|tier| tier.name() == name).unwrap()
}

/// Kills one of the processes of a view at each of the moments. This process becomes the parent of processes that lose
/// theirs, so it sees every process that is left.
#[expect(clippy::zombie_processes, reason = "all children are waited for at once")]
fn killed(arguments: &[String]) {
    set_child_subreaper(Some(Pid::INIT)).unwrap();
    let folder = workspace();
    let before = state(folder.path());
    let mut random = SEED;
    for moment in 0..MOMENTS {
        let what = ["command", "program", "prepared"][moment as usize % 3];
        let mut caller = start_caller(folder.path(), what, &arguments[1]);
        std::thread::sleep(random_moment(&mut random));
        let id = caller.id();
        let victim = match arguments[0].as_str() {
            "the_caller" => Some(id),
            "the_process_that_waits" => child_of(id),
            _ => child_of(id).and_then(child_of),
        };
        // Shortly after the start this process may not exist yet.
        if let Some(victim) = victim {
            let victim = Pid::from_raw(i32::try_from(victim).unwrap()).unwrap();
            let _ = kill_process(victim, Signal::KILL);
        }
        // A caller that still runs ends when its input is closed.
        drop(caller.stdin.take());
        wait_until_nobody_is_left(moment);
    }
    assert_eq!(state(folder.path()), before);
    // The workspace can still be used by another view.
    let of_tier = Options { tier: tier(&arguments[1]), ..options(folder.path()) };
    let mut view = View::start(&of_tier).unwrap();
    assert!(view.run(&Command::shell("true", PATIENCE)).unwrap().end.is_success());
}

/// A random time. Short ones are more likely, because most happens close to the start.
fn random_moment(random: &mut u64) -> Duration {
    // This is Marsaglia's xorshift generator.
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let part = f64::from(u32::try_from(*random >> 32).unwrap()) / f64::from(u32::MAX);
    LATEST.mul_f64(part * part)
}

fn start_caller(folder: &std::path::Path, what: &str, tier: &str) -> Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args([crate::ALONE, "caller"])
        .arg(folder)
        .args([what, tier])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn child_of(parent: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// A caller that has a view in which a command runs and writes. It ends when its input is closed.
fn caller(arguments: &[String]) {
    let options = Options { tier: tier(&arguments[2]), ..options(arguments[0].as_ref()) };
    if arguments[1] == "prepared" {
        let _prepared = Prepared::new(&options.program);
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let view = View::start(&options);
    let Ok(mut view) = view else { return };
    let Ok(kill_handle) = view.kill_handle() else { return };
    std::thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        kill_handle.kill();
    });
    let line = "while :; do echo x > a; (setsid sleep 1000 &); sleep 0.01; done";
    if arguments[1] == "command" {
        assert_eq!(view.run(&Command::shell(line, PATIENCE)).unwrap_err(), ShadowError::Ended);
    } else if let Ok(mut program) = view.start_program(&Command::shell(line, PATIENCE)) {
        program.stdout.read_to_end(&mut Vec::new()).unwrap();
    }
}

/// Waits until no process is left. None of them would end by itself for a quarter of an hour.
fn wait_until_nobody_is_left(moment: u32) {
    let started = Instant::now();
    loop {
        match wait(WaitOptions::NOHANG) {
            Err(Errno::CHILD) => return,
            Ok(Some(_)) => {}
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
        assert!(started.elapsed() < PATIENCE, "something is left after moment {moment}");
    }
}
