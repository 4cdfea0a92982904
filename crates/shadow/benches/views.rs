//! Measures views beside what the same harness takes without one: a plain start of `true`, and a sandbox without an
//! overlay. The sandbox is `bwrap --ro-bind / / true`, once with the two namespaces that it needs for that and once
//! with all namespaces that a view has.
//!
//! The variants take turns, round by round, so that other load on the machine affects all of them alike. Compare
//! ratios, and the least time of each.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "processes and files are what is measured, and time"
)]
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]
#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::fs;
use std::path::Path;
use std::process::{Command as Process, ExitCode, Stdio};
use std::time::{Duration, Instant};

use headstart_overlay_fs::{OsTree, Overlay, Quota, WorkspacePath};
use headstart_shadow::{BuildLayer, BuildRoom, Command, Options, Prepared, ReadRules, View};
use tempfile::TempDir;

const MANY: usize = 50_000;
const HELD: usize = 100;

fn main() -> ExitCode {
    if let Some(code) = headstart_shadow::entry(std::env::args_os()) {
        return code;
    }
    // Under `cargo test --benches` one round is enough, because that only checks that the benchmark runs.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (rounds, many) = if is_bench { (200, MANY) } else { (1, 100) };
    println!("load {}", fs::read_to_string("/proc/loadavg").unwrap().trim());
    let parts: [(&str, &dyn Fn()); 5] = [
        ("starts", &|| starts(rounds, many)),
        ("held", &|| held(rounds)),
        ("show", &|| show_and_read(rounds.min(40))),
        ("steps", &|| steps(rounds.min(40))),
        ("memory", &|| memory(if is_bench { HELD } else { 2 })),
    ];
    let asked: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    for (name, part) in parts {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            part();
        }
    }
    println!("load {}", fs::read_to_string("/proc/loadavg").unwrap().trim());
    ExitCode::SUCCESS
}

fn workspace(files: usize) -> TempDir {
    let folder = tempfile::Builder::new().prefix("shadow-bench-").tempdir_in("/var/tmp").unwrap();
    for number in 0..files {
        let at = folder.path().join(format!("folder{}", number % 500));
        fs::create_dir_all(&at).unwrap();
        fs::write(at.join(format!("file{number}")), "content").unwrap();
    }
    folder
}

struct Row {
    name: String,
    times: Vec<Duration>,
}

fn rows(names: &[&str]) -> Vec<Row> {
    names.iter().map(|name| Row { name: (*name).to_owned(), times: Vec::new() }).collect()
}

impl Row {
    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let done = work();
        self.times.push(started.elapsed());
        done
    }
}

fn print(rows: &mut [Row]) {
    for row in rows {
        row.times.sort();
        let median = row.times[row.times.len() / 2];
        println!("{:<44} least {:>9.3?}  median {median:>9.3?}", row.name, row.times[0]);
    }
}

fn quick() -> Command {
    Command::new(["/bin/true"], Duration::from_secs(60))
}

fn plain() {
    let status = Process::new("/bin/true").stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
}

fn starts(rounds: usize, many: usize) {
    let (few, many) = (workspace(5), workspace(many));
    let has_bwrap = Process::new("bwrap").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_bwrap {
        println!("bwrap is not installed: its rows are missing");
    }
    let mut rows = rows(&[
        "plain spawn of true",
        "bwrap --ro-bind / / true",
        "bwrap --unshare-all --ro-bind / / true",
        "start of a view, 5 files",
        "start of a view, many files",
        "start, true and end, many files",
        "start of a prepared view, many files",
        "start, true and end of a prepared view",
    ]);
    for _ in 0..rounds {
        rows[0].time(plain);
        if has_bwrap {
            for (row, more) in [(1, &[][..]), (2, &["--unshare-all"])] {
                rows[row].time(|| {
                    let words = [more, &["--ro-bind", "/", "/", "true"]].concat();
                    assert!(Process::new("bwrap").args(words).status().unwrap().success());
                });
            }
        }
        rows[3].time(|| start(few.path())).end();
        rows[4].time(|| start(many.path())).end();
        rows[5].time(|| {
            let mut view = start(many.path());
            view.run(&quick()).unwrap();
            view.end();
        });
        let prepared = prepare();
        rows[6].time(|| start_prepared(many.path(), prepared)).end();
        let prepared = prepare();
        rows[7].time(|| {
            let mut view = start_prepared(many.path(), prepared);
            view.run(&quick()).unwrap();
            view.end();
        });
    }
    rows.retain(|row| !row.times.is_empty());
    print(&mut rows);
}

fn start(workspace: &Path) -> View {
    View::start(&Options::new(workspace)).unwrap()
}

/// Processes that have had the time to become ready, as they have while a model answers.
fn prepare() -> Prepared {
    let prepared = Prepared::new(Path::new("/proc/self/exe")).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    prepared
}

fn start_prepared(workspace: &Path, prepared: Prepared) -> View {
    View::start_with(&Options::new(workspace), Some(prepared)).unwrap()
}

fn held(rounds: usize) {
    let folder = workspace(5);
    let mut view = start(folder.path());
    let mut rows = rows(&["plain spawn of true", "true in a held view"]);
    for _ in 0..rounds {
        rows[0].time(plain);
        rows[1].time(|| view.run(&quick()).unwrap());
    }
    print(&mut rows);
}

fn show_and_read(rounds: usize) {
    let folder = workspace(5);
    let tree = std::sync::Arc::new(OsTree::open(folder.path()).unwrap());
    let overlay = Overlay::new(tree.clone(), Quota::default());
    futures::executor::block_on(async {
        for number in 0..100 {
            let path = WorkspacePath::parse(&format!("new{}/file{number}", number % 10)).unwrap();
            overlay.write(&path, vec![b'x'; 4096]).await.unwrap();
        }
    });
    let staged = overlay.change_set();
    let mut rows = rows(&["100 files of 4 KiB by std::fs", "shown in a view", "read back"]);
    for _ in 0..rounds {
        let plain = TempDir::new_in("/dev/shm").unwrap();
        rows[0].time(|| {
            for change in &staged.changes {
                let at = plain.path().join(change.path.as_str().unwrap());
                fs::create_dir_all(at.parent().unwrap()).unwrap();
                fs::write(at, [b'x'; 4096]).unwrap();
            }
        });
        let mut view = start(folder.path());
        rows[1].time(|| view.show(&staged).unwrap());
        let back = rows[2].time(|| view.read_back(&*tree, &ReadRules::new(Quota::default())).unwrap());
        assert_eq!(back.changes.changes.len(), 100);
    }
    print(&mut rows);
}

/// Steps on top of other steps: what the lower steps staged is written into the view. The alternative would be one more
/// layer for each step, which is measured with finished layers of build output.
fn steps(rounds: usize) {
    let folder = workspace(5);
    let tree = std::sync::Arc::new(OsTree::open(folder.path()).unwrap());
    let rooms = TempDir::new_in("/var/tmp").unwrap();
    let layers: Vec<_> = (0..3).map(|number| rooms.path().join(format!("layer{number}"))).collect();
    for layer in &layers {
        fs::create_dir(layer).unwrap();
        fs::write(layer.join("built"), "x").unwrap();
    }
    let counts = [1, 10, 100];
    let mut rows = rows(&[
        "start over no layer",
        "start over one layer",
        "start over three layers",
        "1 file of a step below",
        "10 files",
        "100 files",
    ]);
    for round in 0..rounds {
        for (row, count) in [0, 1, 3].into_iter().enumerate() {
            let room = rooms.path().join(format!("{round}-{count}"));
            fs::create_dir(&room).unwrap();
            let path = WorkspacePath::parse("folder0").unwrap();
            let layer = BuildLayer { path, below: layers[..count].to_vec() };
            let build =
                BuildRoom { folder: room.clone(), measured: room, layers: vec![layer], bytes: 1 << 30 };
            let options = Options { build: Some(build), ..Options::new(folder.path()) };
            drop(rows[row].time(|| View::start(&options).unwrap()));
        }
        for (row, count) in counts.into_iter().enumerate() {
            let overlay = Overlay::new(tree.clone(), Quota::default());
            futures::executor::block_on(async {
                for number in 0..count {
                    let path = WorkspacePath::parse(&format!("new{}/file{number}", number % 10)).unwrap();
                    overlay.write(&path, vec![b'x'; 4096]).await.unwrap();
                }
            });
            let mut view = start(folder.path());
            rows[3 + row].time(|| view.show_below(&overlay.change_set()).unwrap());
        }
    }
    print(&mut rows);
    for entry in fs::read_dir(rooms.path()).unwrap() {
        headstart_shadow::remove_folder(&entry.unwrap().path()).unwrap();
    }
}

fn memory(count: usize) {
    let folder = workspace(5);
    let (kernel, mut views) = (kernel_memory(), Vec::new());
    let started = Instant::now();
    for _ in 0..count {
        views.push(start(folder.path()));
    }
    println!("{count} views, started in {:.1?} each", started.elapsed() / u32::try_from(count).unwrap());
    let processes = processes();
    let user: u64 = processes.iter().map(|process| proportional(process)).sum();
    let each = |kilobytes: u64| kilobytes / u64::try_from(count).unwrap();
    let kernel = kernel_memory().saturating_sub(kernel);
    println!(
        "each: {} kB of {} processes, {} kB of the kernel",
        each(user),
        processes.len() / count,
        each(kernel)
    );
    let started = Instant::now();
    for view in &mut views {
        view.run(&quick()).unwrap();
    }
    println!("true in each, one after the other: {:.1?}", started.elapsed());
    let started = Instant::now();
    std::thread::scope(|scope| {
        for view in &mut views {
            scope.spawn(|| view.run(&quick()).unwrap());
        }
    });
    println!("true in all at once: {:.1?}", started.elapsed());
}

/// The ids of all processes that this benchmark's views have.
fn processes() -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![std::process::id().to_string()];
    while let Some(parent) = todo.pop() {
        for task in fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children: Vec<String> = children.split_whitespace().map(str::to_owned).collect();
            found.extend(children.clone());
            todo.extend(children);
        }
    }
    found
}

/// The memory of a process in kilobytes. A page that several processes share is divided among them.
fn proportional(process: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The kernel's own memory in kilobytes.
fn kernel_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    ["Slab:", "PageTables:", "KernelStack:"].iter().map(|name| field(name)).sum()
}
