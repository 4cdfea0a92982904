//! `headstart search`: the places of a project that fit a text best.

use std::fmt::Write as _;
use std::time::Duration;

use headstart_code_index::{Budget, Hit, Query, View, Weights, search};
use headstart_overlay_fs::WorkspacePath;
use serde::Serialize;

use crate::args::Search;
use crate::config::Flags;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::index::Index;
use crate::{output, workspace};

/// A search brings the index to what the files are for so long, then it answers from what is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// With `--json`, one of these a line, the best first.
#[derive(Serialize)]
struct Line<'a> {
    path: &'a WorkspacePath,
    /// The first and the last line, from 1; 0 and 0 where only the path is known.
    lines: (u32, u32),
    score: f32,
    symbol: Option<&'a str>,
    why: Vec<Reason<'a>>,
}

#[derive(Serialize)]
struct Reason<'a> {
    term: &'a str,
    field: &'static str,
    part: f32,
}

pub(crate) async fn run(args: Search, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let index = open(&workspace, context)?;
    let updated = index.follow(Some(PATIENCE)).await?;
    for told in &updated.told {
        output::note(told);
    }
    if updated.progress.percent() < 100 {
        let percent = updated.progress.percent();
        output::note(&format!("indexed {percent} % of the files so far; headstart index does the rest"));
    }
    let hits = found(&index, &args)?;
    if context.output.is_json() {
        for hit in &hits {
            output::print_json(&line(hit))?;
        }
    } else if hits.is_empty() {
        output::note("nothing fits; grep finds what is spelled in another way");
    } else {
        output::print(&hits.iter().map(text).collect::<String>())?;
    }
    Ok(ExitStatus::Done)
}

/// The index of a workspace, by its user's configuration.
pub(super) fn open(workspace: &str, context: &Context) -> Result<Index, CliError> {
    let config = context.config(&Flags::default(), workspace.as_ref())?;
    if !config.index.enabled {
        return Err(CliError::Unavailable(
            "the index is off; code-index.enabled = true in a configuration file turns it on".to_owned(),
        ));
    }
    let gate = config.gate_context(workspace.to_owned())?;
    let (index, told) = Index::open(context.store()?.state_folder(), workspace, gate, config.index)?;
    if let Some(told) = told {
        output::note(&told);
    }
    Ok(index)
}

fn found(index: &Index, args: &Search) -> Result<Vec<Hit>, CliError> {
    let recent = index.recent()?;
    let snapshot = index.store.snapshot()?;
    let view = View::new(&snapshot, []);
    let mut query = Query::parse(&args.query, |path| view.has(path));
    if let Some(folder) = &args.path {
        let folder = WorkspacePath::parse(folder)
            .map_err(|error| CliError::Unavailable(format!("--path: {error}")))?;
        query = query.below(folder);
    }
    let budget = Budget { hits: args.limit, ..Budget::default() };
    Ok(search(&view, &query, budget, &recent, &Weights::default())?)
}

fn line(hit: &Hit) -> Line<'_> {
    let reason = |why: &'_ headstart_code_index::Why| (why.field, why.part);
    let why = hit.why.iter().map(|why| {
        let (field, part) = reason(why);
        Reason { term: &why.term, field, part }
    });
    Line {
        path: &hit.path,
        lines: hit.lines,
        score: hit.score,
        symbol: hit.symbol.as_deref(),
        why: why.collect(),
    }
}

/// `src/auth.rs:10-32  login  (login, password)`
fn text(hit: &Hit) -> String {
    let mut text = output::one_line(&hit.path.to_string());
    if hit.lines != (0, 0) {
        let _ = write!(text, ":{}-{}", hit.lines.0, hit.lines.1);
    }
    if let Some(symbol) = &hit.symbol {
        let _ = write!(text, "  {symbol}");
    }
    let mut terms: Vec<&str> = Vec::new();
    for why in &hit.why {
        if !terms.contains(&why.term.as_str()) {
            terms.push(&why.term);
        }
    }
    let _ = write!(text, "  ({})", terms.join(", "));
    output::printable(&text) + "\n"
}
