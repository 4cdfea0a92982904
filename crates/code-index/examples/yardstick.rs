//! Measures searches against a list of queries and the files that answer them.
//!
//! `cargo run -p headstart-code-index --example yardstick --all-features -- [--misses] FOLDER=QUERIES.json…`
//!
//! The list has the form of the annotations in <https://github.com/MinishLab/semble>, `benchmarks/annotations`: an
//! array of `{"query": …, "relevant": [path…], "secondary": [path…], "category": …}`. `FOLDER` is what is searched,
//! without past commits; a path of the list may begin above it. Printed are NDCG@10, with all that is relevant counting
//! alike, the share of queries with a relevant file among the first ten, and the share of tests among these.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "it reads a list and prints a table"
)]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use futures::executor::block_on;
use headstart_code_index::{
    Budget, ContentFields, MemoryIndex, Query, View, Weights, project_files, search_files,
};
use headstart_overlay_fs::{OsTree, Tree as _};
use serde_json::Value;

type Failure = Box<dyn std::error::Error>;

/// The number of files that count.
const FIRST: usize = 10;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("yardstick: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let tells_misses = arguments.iter().any(|argument| argument == "--misses");
    let lists: Vec<_> = arguments.iter().filter_map(|argument| argument.split_once('=')).collect();
    if lists.is_empty() {
        return Err("name at least one FOLDER=QUERIES.json".into());
    }
    println!("| list | files | queries | NDCG@10 | hit@10 | tests |");
    println!("|---|---|---|---|---|---|");
    let mut sums = [0.0; 3];
    for (folder, list) in &lists {
        let index = index(Path::new(folder))?;
        let queries: Vec<Value> = serde_json::from_slice(&std::fs::read(list)?)?;
        let mut row = [0.0; 3];
        for query in &queries {
            let text = query["query"].as_str().ok_or("a query is a text")?;
            let found = found(&index, text)?;
            let relevant = relevant(query);
            let [gain, hit, tests] = quality(&found, &relevant);
            if tells_misses && gain < 0.7 {
                eprintln!("{gain:.2} {text:?} {relevant:?}: {:?}", &found[..found.len().min(4)]);
            }
            row.iter_mut().zip([gain, hit, tests]).for_each(|(sum, it)| *sum += it / queries.len() as f64);
        }
        let name = Path::new(list).file_stem().unwrap_or_default().to_string_lossy();
        let files = View::new(&index, []).files();
        println!("| {name} | {files} | {} | {:.3} | {:.3} | {:.3} |", queries.len(), row[0], row[1], row[2]);
        sums.iter_mut().zip(row).for_each(|(sum, it)| *sum += it / lists.len() as f64);
    }
    println!("| mean | | | {:.4} | {:.3} | {:.3} |", sums[0], sums[1], sums[2]);
    Ok(())
}

fn index(folder: &Path) -> Result<MemoryIndex, Failure> {
    let tree = OsTree::open(folder)?;
    let mut index = MemoryIndex::new();
    for (path, _) in block_on(project_files(&tree, &|_| false))?.files {
        let bytes = block_on(tree.read(&path))?;
        index.put(path.clone(), Arc::new(ContentFields::of(&path, &bytes)));
    }
    Ok(index)
}

fn found(index: &MemoryIndex, text: &str) -> Result<Vec<String>, Failure> {
    let view = View::new(index, []);
    let query = Query::parse(text, |path| view.has(path));
    let budget = Budget { hits: FIRST, ..Budget::default() };
    let files = search_files(&view, &query, budget, &[], &Weights::for_view(&view))?;
    Ok(files.into_iter().map(|(path, _)| path.to_string()).collect())
}

/// The paths that answer a query; a place within a file counts as the file.
fn relevant(query: &Value) -> Vec<&str> {
    let lists = ["relevant", "secondary"].into_iter().filter_map(|key| query[key].as_array());
    lists.flatten().filter_map(|it| it.as_str().or_else(|| it["path"].as_str())).collect()
}

/// NDCG@10, whether anything relevant was found, and the share of tests.
fn quality(found: &[String], relevant: &[&str]) -> [f64; 3] {
    let ends = |one: &str, other: &str| one == other || one.ends_with(&format!("/{other}"));
    let mut gains = [0.0; FIRST];
    for wanted in relevant {
        if let Some(rank) = found.iter().position(|path| ends(path, wanted) || ends(wanted, path)) {
            gains[rank] = 1.0;
        }
    }
    let sum = |gains: &[f64]| -> f64 {
        gains.iter().enumerate().map(|(rank, gain)| gain / (rank as f64 + 2.0).log2()).sum()
    };
    let best = sum(&vec![1.0; relevant.len().min(FIRST)]);
    let tests = found.iter().filter(|path| path.contains("test")).count();
    let hit = f64::from(u8::from(gains.contains(&1.0)));
    [sum(&gains) / best.max(1e-9), hit, tests as f64 / found.len().max(1) as f64]
}
