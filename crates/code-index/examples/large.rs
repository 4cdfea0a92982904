//! Measures what a large project costs: to index it, to update the index when nothing changed, to open it and to
//! search.
//!
//! `cargo run --release -p headstart-code-index --example large --features grammars,sqlite -- [FILES]`
//!
//! Writes this many files (100,000 by default) of ten lines each into a temporary folder, a thousand per folder.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "it writes files, measures time and prints a table"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use futures::executor::block_on;
use headstart_code_index::{
    Budget, Query, Store, StoreLimits, View, Weights, project_files, search, update, update_paths,
};
use headstart_overlay_fs::{OsTree, WorkspacePath};
use rustix::time::{ClockId, clock_gettime};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let files = std::env::args().nth(1).map_or(Ok(100_000), |count| count.parse())?;
    let folder = tempfile::tempdir()?;
    let (project, state) = (folder.path().join("project"), folder.path().join("index.sqlite"));
    write_files(&project, files)?;
    let tree = OsTree::open(&project)?;
    let closes = |_: &WorkspacePath| false;

    println!("| {files} files | processor, ms | wall, ms |\n|---|---|---|");
    let store = Store::open(&state, StoreLimits::default())?.store;
    timed("a walk over all files", || block_on(project_files(&tree, &closes)))?;
    timed("the first index", || {
        block_on(update(&store, &tree, &closes, &mut |_| ControlFlow::Continue(())))
    })?;
    timed("a look at all files, none changed", || {
        block_on(update(&store, &tree, &closes, &mut |_| ControlFlow::Continue(())))
    })?;
    let changed = BTreeSet::from([WorkspacePath::parse("0/0.rs")?]);
    std::fs::write(project.join("0/0.rs"), "fn changed() {}\n")?;
    timed("one path that changed", || block_on(update_paths(&store, &tree, &closes, &changed)))?;
    drop(store);

    let store = timed("to open the index", || Store::open(&state, StoreLimits::default()))?.store;
    timed("the first snapshot", || store.snapshot().map(drop))?;
    for (what, text) in [
        ("a search for a name", "needle_7_7"),
        ("a search for words of a few files", "where is number 777 of folder 7 counted"),
        ("a search for words of all files", "which function returns the value"),
    ] {
        timed(what, || {
            let snapshot = store.snapshot()?;
            let view = View::new(&snapshot, []);
            let query = Query::parse(text, |path| view.has(path));
            search(&view, &query, Budget::default(), &[], &Weights::for_view(&view))
        })?;
    }
    println!("\nThe database has {:.1} MB.", store.status()?.bytes as f64 / 1e6);
    Ok(())
}

fn write_files(project: &Path, files: usize) -> Result<(), Failure> {
    for number in 0..files {
        let (folder, file) = (number / 1_000, number % 1_000);
        if file == 0 {
            std::fs::create_dir_all(project.join(folder.to_string()))?;
        }
        let mut text =
            format!("/// Counts what is in {folder}.\npub fn needle_{folder}_{file}() -> u64 {{\n");
        for line in 0..7 {
            writeln!(text, "    let value_{line} = {};", number * (line + 3))?;
        }
        text.push_str("    value_0\n}\n");
        std::fs::write(project.join(format!("{folder}/{file}.rs")), text)?;
    }
    Ok(())
}

/// Does the work and prints how long it took.
fn timed<T, E>(what: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let processor = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
    };
    let (began, before) = (Instant::now(), processor());
    let done = work()?;
    println!("| {what} | {:.1} | {:.1} |", processor() - before, began.elapsed().as_secs_f64() * 1e3);
    Ok(done)
}
