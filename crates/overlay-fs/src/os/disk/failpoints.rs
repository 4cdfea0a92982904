//! A numbered fail point before every system call of a commit, an undo or a sweep, for tests of this crate and of its
//! hosts. Without the feature `failpoints` there are none.
//!
//! A plan applies to the thread that armed it. What a thread does can also be recorded, for a test that asks what a
//! loss of power would leave of it.

use std::cell::RefCell;
use std::ffi::OsStr;

use super::system::Errno;
pub use super::trace::{RecordedCall, Slot, record, recorded};

/// A system call that is about to be made.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct FailPoint<'a> {
    /// How many points came before this one since the plan was armed.
    pub number: usize,
    /// The call: `exchange`, `sync`, …
    pub call: &'static str,
    /// The name that the call is about, without its folder.
    pub name: &'a [u8],
}

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailAction {
    /// The call is made.
    GoOn,
    /// The process is killed before the call, as by `SIGKILL`.
    Die,
    /// The call does nothing and fails with this error number.
    Fail(i32),
}

type Plan = Box<dyn FnMut(&FailPoint<'_>) -> FailAction>;

thread_local! {
    static ARMED: RefCell<Option<(usize, Plan)>> = const { RefCell::new(None) };
}

/// From here on `plan` is asked at every point that this thread reaches.
pub fn arm(plan: impl FnMut(&FailPoint<'_>) -> FailAction + 'static) {
    ARMED.set(Some((0, Box::new(plan))));
}

/// Removes the plan; returns how many points were reached.
pub fn disarm() -> usize {
    ARMED.take().map_or(0, |(reached, _)| reached)
}

/// A point of other code, such as a [`Participant`](crate::Participant), in the same count.
pub fn reach(call: &'static str, name: &str) -> std::io::Result<()> {
    Ok(before(call, OsStr::new(name))?)
}

pub(in crate::os) fn before(call: &'static str, name: &OsStr) -> Result<(), Errno> {
    let then = ARMED.with_borrow_mut(|armed| {
        let Some((reached, plan)) = armed else { return FailAction::GoOn };
        let point = FailPoint { number: *reached, call, name: name.as_encoded_bytes() };
        *reached += 1;
        plan(&point)
    });
    match then {
        FailAction::GoOn => Ok(()),
        FailAction::Fail(number) => Err(Errno::from_raw_os_error(number)),
        FailAction::Die => die(),
    }
}

#[cfg(windows)]
fn die() -> ! {
    std::process::abort()
}

#[cfg(unix)]
fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // The signal may arrive a moment later, and nothing of the commit may happen in between.
    loop {
        std::hint::spin_loop();
    }
}
