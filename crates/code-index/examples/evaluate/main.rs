//! Measures how well, and how quickly, searches find the files that commits changed.
//!
//! `cargo run --release -p headstart-code-index --example evaluate --all-features -- [--no-history] REPOSITORY…`
//!
//! A query is the subject of a commit without its number, and the files that the commit modified are relevant. The
//! index is made of a commit before all of them. Every other query chose the weights once; the others are reported.
//! Queries for names ask for names that exactly one file of the repository defines. For comparison, all contents are
//! scanned for the query's words with ripgrep's library and ranked by tf-idf.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "it runs git, measures time and prints a table"
)]

mod corpus;
#[cfg(feature = "sqlite")]
mod disk;
mod scan;

use std::process::ExitCode;

use headstart_code_index::{Budget, Query, Snapshot, View, Weights, search, search_files};

use self::corpus::{Case, Corpus};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evaluate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let with_history = !arguments.iter().any(|argument| argument == "--no-history");
    let repositories: Vec<&String> =
        arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    if repositories.is_empty() {
        return Err("name at least one git repository".into());
    }
    let mut corpora = Vec::new();
    for repository in repositories {
        eprintln!("reading {repository}");
        corpora.push(Corpus::read(repository, "HEAD", with_history)?);
    }
    println!("| repository | files | queries | recall@10 | MRR | names R | names M | scan R | scan M |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut sums = [0.0; 6];
    for corpus in &corpora {
        let weights = Weights::for_view(&View::new(&corpus.index, []));
        let held_out = measure(corpus, corpus.held_out(), &weights);
        let names = measure(corpus, corpus.names(), &weights);
        let scan = scan::measure(corpus, corpus.held_out());
        let row = [held_out.recall, held_out.mrr, names.recall, names.mrr, scan.recall, scan.mrr];
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        println!(
            "| {} | {} | {} | {} |",
            corpus.name,
            corpus.files.len(),
            corpus.held_out().len(),
            cells(&row)
        );
    }
    let means = sums.map(|sum| sum / corpora.len() as f64);
    println!("| mean | | | {} |", cells(&means));
    println!();
    println!("| repository | index, CPU ms | chunks | query, CPU ms | wall p50 / p95 ms | scan, CPU ms |");
    println!("|---|---|---|---|---|---|");
    for corpus in &corpora {
        let mut times: Vec<f64> = corpus.held_out().iter().map(|case| time_of(corpus, case)).collect();
        let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
        let scan = scan::time(corpus);
        println!(
            "| {} | {:.0} | {} | {mean:.2} | {:.2} / {:.2} | {scan:.1} |",
            corpus.name,
            corpus.index_milliseconds,
            corpus.index.catalogue().chunks(),
            at(50),
            at(95),
        );
    }
    #[cfg(feature = "sqlite")]
    disk::print(&corpora)?;
    Ok(())
}

fn cells(values: &[f64]) -> String {
    values.iter().map(|value| format!("{value:.3}")).collect::<Vec<_>>().join(" | ")
}

/// The recall among the first ten hits, and how early the first relevant one comes: the mean of one over its rank.
#[derive(Clone, Copy, Default)]
struct Quality {
    recall: f64,
    mrr: f64,
}

impl Quality {
    fn add(&mut self, case: &Case, found: &[String], queries: usize) {
        let hits = found.iter().take(10).filter(|path| case.relevant.contains(path)).count();
        let first = found.iter().position(|path| case.relevant.contains(path));
        self.recall += hits as f64 / case.relevant.len() as f64 / queries as f64;
        self.mrr += first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64) / queries as f64;
    }
}

fn measure(corpus: &Corpus, cases: &[Case], weights: &Weights) -> Quality {
    let view = View::new(&corpus.index, []);
    let mut quality = Quality::default();
    for case in cases {
        let query = Query::parse(&case.text, |path| view.has(path));
        let budget = Budget { hits: 100, least: 0.0 };
        let found = search_files(&view, &query, budget, &corpus.recent, weights).unwrap_or_default();
        let found: Vec<String> = found.into_iter().map(|(path, _)| path.to_string()).collect();
        quality.add(case, &found, cases.len());
    }
    quality
}

fn time_of(corpus: &Corpus, case: &Case) -> f64 {
    let start = cpu_milliseconds();
    let view = View::new(&corpus.index, []);
    let query = Query::parse(&case.text, |path| view.has(path));
    let hits = search(&view, &query, Budget::default(), &corpus.recent, &Weights::for_view(&view));
    std::hint::black_box(&hits);
    cpu_milliseconds() - start
}

/// The processor time of this thread, in milliseconds.
fn cpu_milliseconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
