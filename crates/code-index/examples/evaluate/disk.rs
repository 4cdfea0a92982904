use std::sync::Arc;

use headstart_code_index::{Budget, ContentFields, Entry, Query, Store, StoreLimits, View, Weights, search};
use headstart_overlay_fs::WorkspacePath;

use crate::corpus::Corpus;
use crate::{Failure, cpu_milliseconds};

/// Prints what the index on disk costs: the time to write it, its bytes, and the time of a query.
pub(crate) fn print(corpora: &[Corpus]) -> Result<(), Failure> {
    println!(
        "\n| repository | read, cut and write, CPU ms | database, MB | query on disk, CPU ms | one file, CPU ms |"
    );
    println!("|---|---|---|---|---|");
    for corpus in corpora {
        let folder = tempfile::tempdir()?;
        let store = Store::open(&folder.path().join("index.sqlite"), StoreLimits::default())?.store;
        let start = cpu_milliseconds();
        if !corpus.history.is_empty() {
            store.set_history(corpus.history.iter().map(|(path, text)| (path, text.as_str())))?;
        }
        let mut batch = Vec::new();
        for (name, bytes) in &corpus.files {
            let path = WorkspacePath::parse(name)?;
            let content = Arc::new(ContentFields::of(&path, bytes));
            batch.push(Entry::Put { path, content, stamp: String::new() });
            if batch.len() == 200 {
                store.apply(&batch)?;
                batch.clear();
            }
        }
        store.apply(&batch)?;
        let written = cpu_milliseconds() - start;
        store.compact()?;
        drop(store.snapshot()?);
        let start = cpu_milliseconds();
        for case in corpus.held_out() {
            let snapshot = store.snapshot()?;
            let view = View::new(&snapshot, []);
            let query = Query::parse(&case.text, |path| view.has(path));
            std::hint::black_box(search(
                &view,
                &query,
                Budget::default(),
                &corpus.recent,
                &Weights::default(),
            )?);
        }
        let asked = (cpu_milliseconds() - start) / corpus.held_out().len().max(1) as f64;
        let path = WorkspacePath::parse("added.rs")?;
        let start = cpu_milliseconds();
        for number in 0..50 {
            let content = Arc::new(ContentFields::of(&path, format!("fn added_{number}() {{}}").as_bytes()));
            store.apply(&[Entry::Put { path: path.clone(), content, stamp: String::new() }])?;
        }
        let one = (cpu_milliseconds() - start) / 50.0;
        let size = store.status()?.bytes as f64 / 1e6;
        println!("| {} | {written:.0} | {size:.1} | {asked:.2} | {one:.2} |", corpus.name);
    }
    Ok(())
}
