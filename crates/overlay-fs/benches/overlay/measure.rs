use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

/// A part ends after `ROUNDS` rounds, or after `LONG` if it has a few rounds by then.
const ROUNDS: usize = 41;
const LONG: Duration = Duration::from_secs(4);
const FEW: usize = 5;

/// Which parts are to be run, and the folders that they made, which are all removed at the end.
pub(crate) struct Parts {
    wanted: Vec<String>,
    folders: RefCell<Vec<TempDir>>,
}

/// One way to do something.
pub(crate) struct Way<'a> {
    told: &'static str,
    /// Prepares, does the work, and returns how long the work alone took.
    run: Box<dyn FnMut() -> Took + 'a>,
}

/// How long something took.
#[derive(Clone, Copy)]
pub(crate) struct Took {
    time: Duration,
    /// The processor time of this thread, without the work of other threads and without waiting for the disk.
    processor: Duration,
}

impl<'a> Way<'a> {
    pub(crate) fn new(told: &'static str, run: impl FnMut() -> Took + 'a) -> Self {
        Self { told, run: Box::new(run) }
    }

    /// A way that is so quick that it has to be repeated to be measured.
    pub(crate) fn quick(told: &'static str, times: u32, mut call: impl FnMut() + 'a) -> Self {
        Self::new(told, move || {
            let Took { time, processor } = timed(|| (0..times).for_each(|_| call())).0;
            Took { time: time / times, processor: processor / times }
        })
    }
}

/// Returns how long the call took, along with its result, so that freeing the result is not measured.
pub(crate) fn timed<T>(call: impl FnOnce() -> T) -> (Took, T) {
    let (start, processor) = (Instant::now(), processor_time());
    let outcome = call();
    (Took { time: start.elapsed(), processor: processor_time().saturating_sub(processor) }, outcome)
}

fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

impl Parts {
    pub(crate) fn from_arguments() -> Self {
        let wanted = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
        Self { wanted, folders: RefCell::default() }
    }

    /// Makes a new folder on the file system of `TMPDIR`.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder_in(&std::env::temp_dir())
    }

    pub(crate) fn folder_in(&self, above: &Path) -> PathBuf {
        let folder = tempfile::tempdir_in(above).unwrap();
        let path = folder.path().to_owned();
        self.folders.borrow_mut().push(folder);
        path
    }

    pub(crate) fn has(&self, part: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| part.contains(wanted.as_str()))
    }
}

/// Measures all ways in turns, and prints each with its ratio to the first one, the floor.
pub(crate) fn compare(part: &str, mut ways: Vec<Way<'_>>) {
    let mut times = vec![Vec::new(); ways.len()];
    let begin = Instant::now();
    for round in 0..=ROUNDS {
        for turn in 0..ways.len() {
            let number = (round + turn) % ways.len();
            let time = (ways[number].run)();
            // The first round only warms up.
            if 0 < round {
                times[number].push(time);
            }
        }
        if FEW < round && LONG < begin.elapsed() {
            break;
        }
    }
    println!("\n{part} ({} rounds, medians)", times[0].len());
    println!("{:<44} {:>11} {:>6} {:>15} {:>6}", "", "time", "ratio", "processor", "ratio");
    let floor = medians(&times[0]);
    for (way, times) in ways.iter().zip(&times) {
        let [time, processor] = medians(times);
        let ratios = [time / floor[0], processor / floor[1]];
        let told = way.told;
        println!("{told:<44} {time:>8.1} µs {:>6.2} {processor:>12.1} µs {:>6.2}", ratios[0], ratios[1]);
    }
}
/// The medians of the times and of the processor times, in microseconds.
fn medians(all: &[Took]) -> [f64; 2] {
    let median = |of: fn(&Took) -> Duration| {
        let mut times: Vec<_> = all.iter().map(of).collect();
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6
    };
    [median(|took| took.time), median(|took| took.processor)]
}

/// Prints the load, because figures of a machine that does other work are not worth much.
pub(crate) fn print_load() {
    if let Ok(load) = fs::read_to_string("/proc/loadavg") {
        println!("load: {}", load.trim());
    }
}
