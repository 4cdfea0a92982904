//! The overlay and its commit on a real disk, each compared with the time that `std::fs` takes for the same.
//!
//! The ways to do one thing take turns, round by round, so that other work of the machine affects all of them. A ratio
//! is that of two medians of one run. The processor time is printed too, because other programs hardly change it; the
//! rest of the time is waiting for the disk. With an argument, only the parts run that have it in their name. `TMPDIR`
//! says on which file system the workspace is.
//!
//! Nothing is removed before the parts that measure removing. The reason is that some file systems (ext4 without a
//! journal) search long for an inode for seconds after many were freed, which would charge one way for the work of
//! another one.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the floor is what std::fs does, and time is what is measured"
)]
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]
#![expect(clippy::print_stdout, reason = "it prints what it measured")]

mod accepts;
mod measure;
mod place;
mod reads;

use measure::Parts;

fn main() {
    let parts = Parts::from_arguments();
    measure::print_load();
    reads::reads(&parts);
    reads::lists(&parts);
    reads::walks(&parts);
    reads::writes(&parts);
    accepts::accepts(&parts);
    accepts::accepts_across(&parts);
    accepts::undos(&parts);
    accepts::discards(&parts);
    accepts::sweeps(&parts);
    measure::print_load();
}
