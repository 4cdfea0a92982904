//! Runs commands, one at a time, each until none of its processes is left; or one program, while other requests are
//! served.

mod hidden;
mod priority;
mod resident;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid as NixPid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus, pidfd_open};

use self::hidden::Baseline;
pub(super) use self::priority::Priority;
use self::resident::ResidentProgram;
use super::network::without_route;
use crate::Limits;
use crate::os::again;
use crate::os::channel::{Channel, Message};

/// How often the processes of a running command are counted, in nanoseconds.
const LOOK_EVERY: i64 = 100_000_000;

/// Serves until the other side is gone. Then this process ends, and all others of the view with it.
pub(super) fn serve(channel: &mut Channel, limits: Limits, mut priority: Priority) -> ExitCode {
    let mut resident = ResidentProgram::default();
    let baseline = Baseline::now();
    loop {
        resident.watch_until_asked(channel.as_fd(), &limits, &baseline, &mut priority);
        let Ok(Some(message)) = channel.receive() else { break };
        let answer = match message.kind() {
            b"run" if resident.runs() => Some(failed("a program runs in this view; stop it first")),
            b"run" => run(channel.as_fd(), message, &limits, &baseline, &mut priority),
            b"start" => Some(resident.start(message)),
            b"look" => Some(resident.look()),
            b"stop" => Some(resident.stop()),
            _ => Some(failed("no such request")),
        };
        let Some(answer) = answer else { break };
        let fields: Vec<&[u8]> = answer.iter().map(String::as_bytes).collect();
        if channel.send(&fields, &[]).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn failed(why: &str) -> Vec<String> {
    vec!["failed".to_owned(), why.to_owned()]
}

/// The answer to a request; `None` if the other side left meanwhile.
fn run(
    socket: BorrowedFd<'_>,
    message: Message,
    limits: &Limits,
    baseline: &Baseline,
    priority: &mut Priority,
) -> Option<Vec<String>> {
    priority.give();
    let before = without_route();
    let child = match spawn(message, Input::None) {
        Ok(child) => child,
        Err(said) => return Some(failed(&said)),
    };
    let (processor_before, _) = spent_by_ended();
    let mut peak = 0;
    let (how, number) = watch(socket, &child, limits, baseline, priority, &mut peak)?;
    end_all();
    let lost = without_route().saturating_sub(before);
    let (processor, largest) = spent_by_ended();
    let mut answer = vec!["done".to_owned(), how.to_owned(), number.to_string()];
    let numbers = [lost, processor.saturating_sub(processor_before), peak.max(largest)];
    answer.extend(numbers.map(|number| number.to_string()));
    Some(answer)
}

/// Whether standard input is among the descriptors of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    None,
    First,
}

/// Starts what a request names. This process's ends of the pipes are closed afterwards, so that they end with the
/// program.
fn spawn(message: Message, input: Input) -> Result<std::process::Child, String> {
    let child = command(message, input)?.spawn().map_err(|error| error.to_string())?;
    Priority::give_of(i32::try_from(child.id()).ok().and_then(Pid::from_raw));
    Ok(child)
}

/// Reads a command from a message. Its fields: directory, number of arguments, the arguments, the variables. Its
/// descriptors: standard input if `input` says so, standard output, standard error.
fn command(message: Message, input: Input) -> Result<Command, String> {
    let wrong = || "the request cannot be read".to_owned();
    let count: usize = message.number(2).ok_or_else(wrong)?;
    let mut fields = message.fields.into_iter().skip(1);
    let directory = OsString::from_vec(fields.next().ok_or_else(wrong)?);
    let mut rest = fields.skip(1);
    let program = rest.next().filter(|program| 0 < count && !program.is_empty()).ok_or_else(wrong)?;
    let mut command = Command::new(OsStr::from_bytes(&program));
    command.args(rest.by_ref().take(count - 1).map(OsString::from_vec)).env_clear().current_dir(directory);
    for variable in rest {
        let Some(cut) = variable.iter().position(|byte| *byte == b'=') else { continue };
        command.env(OsStr::from_bytes(&variable[..cut]), OsStr::from_bytes(&variable[cut + 1..]));
    }
    let mut descriptors = message.descriptors.into_iter();
    let input = match input {
        Input::None => Stdio::null(),
        Input::First => descriptors.next().ok_or_else(wrong)?.into(),
    };
    let (Some(out), Some(err)) = (descriptors.next(), descriptors.next()) else { return Err(wrong()) };
    command.stdin(input).stdout(out).stderr(err).process_group(0);
    Ok(command)
}

/// Waits for a command's first process to end. `None` if the other side left.
fn watch(
    socket: BorrowedFd<'_>,
    child: &std::process::Child,
    limits: &Limits,
    baseline: &Baseline,
    priority: &mut Priority,
    peak: &mut u64,
) -> Option<(&'static str, i32)> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok();
    let pause = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY };
    loop {
        let mut waited = vec![PollFd::new(&socket, PollFlags::IN | PollFlags::RDHUP)];
        waited.extend(handle.as_ref().map(|handle| PollFd::new(handle, PollFlags::IN)));
        let ready = again(|| poll(&mut waited, Some(&pause))).ok()?;
        // The caller sends nothing while a command runs, so it is gone, or wants the view to end.
        if !waited[0].revents().is_empty() {
            return None;
        }
        while let Ok(Some((ended, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if ended == pid {
                return Some(how(status));
            }
        }
        if 0 < ready {
            continue;
        }
        priority.give();
        if let Some(used) = usage() {
            *peak = used.1.max(*peak);
            if let Some(over) = over_by(used, limits, baseline) {
                return Some((over, 0));
            }
        }
    }
}

/// For all processes that have ended: their processor time in microseconds, and the most bytes that one of them held.
fn spent_by_ended() -> (u64, u64) {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return (0, 0) };
    let time = |time: nix::sys::time::TimeVal| {
        let micros = time.tv_sec().saturating_mul(1_000_000).saturating_add(time.tv_usec());
        u64::try_from(micros).unwrap_or_default()
    };
    let largest = u64::try_from(usage.max_rss()).unwrap_or_default() << 10;
    (time(usage.user_time()) + time(usage.system_time()), largest)
}

fn how(status: WaitStatus) -> (&'static str, i32) {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ("exited", code),
        (None, signal) => ("killed", signal.unwrap_or_default()),
    }
}

/// Which limit the processes of the view exceed, if any.
fn over(limits: &Limits, baseline: &Baseline) -> Option<&'static str> {
    usage().and_then(|used| over_by(used, limits, baseline))
}

fn over_by((processes, memory): (u64, u64), limits: &Limits, baseline: &Baseline) -> Option<&'static str> {
    let hidden = || baseline.hidden(memory, limits.memory);
    match () {
        () if limits.processes < processes => Some("processes"),
        () if limits.memory < memory || limits.memory < memory.saturating_add(hidden()) => Some("memory"),
        () => None,
    }
}

/// The number of the view's processes, and their memory in bytes.
fn usage() -> Option<(u64, u64)> {
    let page = rustix::param::page_size() as u64;
    let (mut processes, mut memory) = (0_u64, 0_u64);
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let name = entry.file_name();
        if !name.as_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        processes += 1;
        let sizes = fs::read_to_string(entry.path().join("statm")).unwrap_or_default();
        let mut sizes = sizes.split(' ').skip(1).map(|pages| pages.parse::<u64>().unwrap_or(0));
        // Pages of files are shared, and the kernel can free them.
        let (resident, shared) = (sizes.next().unwrap_or(0), sizes.next().unwrap_or(0));
        memory += resident.saturating_sub(shared) * page;
    }
    Some((processes, memory))
}

/// Ends every other process of the view; returns once none is left.
fn end_all() {
    loop {
        // The signal reaches every process: a fork that is going on either gets it or fails. An error means that no
        // process is left.
        let _ = kill(NixPid::from_raw(-1), Signal::SIGKILL);
        // Processes that have ended are collected first, because signalling again for each of thousands would take
        // longer than they took to start.
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        if matches!(rustix::process::wait(WaitOptions::empty()), Err(Errno::CHILD)) {
            return;
        }
    }
}
