//! Tells what a command in a view prints, while it runs.

use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use headstart_toolbox::{PARTIAL_OUTPUT_BYTES, PartialOutput};

use super::lock;
use crate::bounded_output::{BoundedOutput, TOLD_EVERY};

/// What was printed, and whether some of it is new.
struct Printed {
    kept: BoundedOutput,
    is_new: bool,
}

/// Has a command run whose output goes to what is given to `run`, and tells `sink` its end from time to time: nothing
/// more once this returns.
pub(super) fn while_told<T>(
    sink: Option<&dyn PartialOutput>,
    run: impl FnOnce(&mut dyn FnMut(&[u8])) -> T,
) -> T {
    let Some(sink) = sink else { return run(&mut |_| {}) };
    // Both halves of what is kept are as long as what is told, so that the end is whole.
    let kept = BoundedOutput::new(2 * PARTIAL_OUTPUT_BYTES);
    let printed = Mutex::new(Printed { kept, is_new: false });
    let (running, over) = channel::<()>();
    let printed = &printed;
    thread::scope(|scope| {
        scope.spawn(move || {
            while over.recv_timeout(TOLD_EVERY) == Err(RecvTimeoutError::Timeout) {
                let end = {
                    let mut printed = lock(printed);
                    let is_new = std::mem::take(&mut printed.is_new);
                    is_new.then(|| printed.kept.end(PARTIAL_OUTPUT_BYTES))
                };
                if let Some(end) = end {
                    sink.on_output(&end);
                }
            }
        });
        // The thread ends when this is dropped, also by a panic.
        let _running = running;
        run(&mut |bytes| {
            let mut printed = lock(printed);
            printed.kept.push(bytes);
            printed.is_new = true;
        })
    })
}
