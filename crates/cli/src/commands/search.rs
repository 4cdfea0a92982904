//! `headstart search`: the places of a project that match a text best.

use std::fmt::Write as _;
use std::time::Duration;

use headstart_code_index::{
    Budget, Hit, ModelLocation, NEAREST, Query, Snapshot as _, View, Weights, is_for_judges,
    names_definition, search,
};
use headstart_machine::config::Flags;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::index::{Index, IndexModels};
use headstart_machine::output::ColorMode;
use headstart_machine::{output, workspace};
use headstart_overlay_fs::WorkspacePath;
use serde::Serialize;

use crate::args::Search;

/// What is said where no place fits.
const NOTHING: &str = "nothing fits; grep finds what is spelled in another way";

/// How long a search updates the index before it answers from what the index contains.
const PATIENCE: Duration = Duration::from_secs(2);

/// The lines with `--json`, the best first.
#[derive(Serialize)]
struct SearchHit<'a> {
    path: &'a WorkspacePath,
    /// The first and the last line, from 1; 0 and 0 if only the path is known.
    lines: (u32, u32),
    score: f32,
    symbol: Option<&'a str>,
    why: Vec<MatchedTerm<'a>>,
}

#[derive(Serialize)]
struct MatchedTerm<'a> {
    term: &'a str,
    field: &'static str,
    part: f32,
}

pub(crate) async fn run(args: Search, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let (index, models) = open(&workspace, context)?;
    let updated = index.follow(Some(PATIENCE), &mut |_| {}).await?;
    for notice in &updated.told {
        output::note(notice);
    }
    if updated.is_whole && updated.progress.percent() < 100 {
        let percent = updated.progress.percent();
        output::note(&format!("indexed {percent} % of the files so far; headstart index does the rest"));
    }
    let below = below(&index, &args).await?;
    let (hits, query) = ranked_hits(&index, &args, below.as_ref(), &models, context.output.is_json()).await?;
    models.notices().iter().for_each(|notice| output::note(notice));
    if context.output.is_json() {
        for hit in &hits {
            output::print_json(&line(hit))?;
        }
    } else if args.code {
        output::print(&code(&index, &hits, &query).await)?;
    } else if hits.is_empty() {
        output::note(NOTHING);
    } else {
        let columns = context.output.columns();
        for hit in &hits {
            let text = index.text(hit).await.unwrap_or_default();
            output::print(&place(hit, &text, &query, context.output.style(), columns))?;
        }
    }
    // As with grep, a script sees by the code whether there was anything.
    Ok(if hits.is_empty() { ExitStatus::Failed } else { ExitStatus::Done })
}

/// Where to search; an error if nothing is there.
async fn below(index: &Index, args: &Search) -> Result<Option<WorkspacePath>, CliError> {
    let Some(folder) = &args.path else { return Ok(None) };
    let refused = |why: String| CliError::WrongPath { why };
    let path = WorkspacePath::parse(folder).map_err(|error| refused(error.to_string()))?;
    if index.has(&path).await {
        Ok(Some(path))
    } else {
        Err(refused(format!("the project has nothing at {folder}")))
    }
}

/// The index of a workspace, according to the user's configuration.
pub(super) fn open(workspace: &str, context: &Context) -> Result<(Index, IndexModels), CliError> {
    let config = context.config(&Flags::default(), workspace.as_ref())?;
    if !config.index.enabled {
        return Err(CliError::Unavailable(
            "the index is off; code-index.enabled = true in a configuration file turns it on".to_owned(),
        ));
    }
    let gate = config.gate_context(workspace.to_owned())?;
    let models = IndexModels::open(&config, &context.environment)?;
    let (index, notice) = Index::open(context.store()?.state_folder(), workspace, gate, config.index)?;
    if let Some(notice) = notice {
        output::note(&notice);
    }
    Ok((index, models))
}

async fn ranked_hits(
    index: &Index,
    args: &Search,
    below: Option<&WorkspacePath>,
    models: &IndexModels,
    as_json: bool,
) -> Result<(Vec<Hit>, Query), CliError> {
    let typed = args.text();
    let most = args.limit.map_or(Budget::default().hits, std::num::NonZero::get);
    let query = |view: &View<'_>| {
        let query = Query::parse(&typed, |path| view.has(path));
        below.into_iter().fold(query, |query, folder| query.below(folder.clone()))
    };
    let names = {
        let snapshot = index.store.snapshot()?;
        let view = View::new(&snapshot, []);
        names_definition(&view, &query(&view))?
    };
    let meaning = match index.vector_status(models)? {
        Some((_, status)) if !names => {
            if !status.is_complete() {
                let (current, all) = (status.current, status.all);
                output::note(&format!(
                    "{current} of {all} chunks have vectors; headstart index makes the rest"
                ));
            }
            models.embed_query(&typed, ModelLocation::Remote).await
        }
        _ => None,
    };
    let ranks = !names && is_for_judges(&typed) && models.available_models(ModelLocation::Remote).ranks;
    let recent = index.recent()?;
    let snapshot = index.store.snapshot()?;
    let view = View::new(&snapshot, []);
    let mut query = query(&view);
    if let Some(meaning) = &meaning {
        query = query.with_nearest(snapshot.nearest(meaning, NEAREST)?);
    }
    let budget = Budget { hits: if ranks { 2 * most } else { most }, ..Budget::default() };
    let mut hits = search(&view, &query, budget, &recent, &Weights::for_view(&view))?;
    drop(snapshot);
    if ranks {
        hits = judged(index, args, models, hits).await;
        hits.truncate(most);
    } else if args.limit.is_none() && !as_json {
        hits.truncate(Hit::telling(&hits));
    }
    Ok((hits, query))
}

/// The results in the order that a model gives them, if its answer can be read.
async fn judged(index: &Index, args: &Search, models: &IndexModels, hits: Vec<Hit>) -> Vec<Hit> {
    let mut passages = Vec::with_capacity(hits.len());
    for hit in &hits {
        passages.push(index.passage(hit).await);
    }
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let order = models.rank_passages(&args.text(), &passages, ModelLocation::Remote).await;
    let order = order.unwrap_or_else(|| (0..hits.len()).collect());
    order.into_iter().filter_map(|at| hits.get(at).cloned()).collect()
}

fn line(hit: &Hit) -> SearchHit<'_> {
    let reason = |why: &'_ headstart_code_index::MatchReason| (why.field, why.part);
    let why = hit.why.iter().map(|why| {
        let (field, part) = reason(why);
        MatchedTerm { term: &why.term, field, part }
    });
    SearchHit {
        path: &hit.path,
        lines: hit.lines,
        score: hit.score,
        symbol: hit.symbol.as_ref().map(|symbol| symbol.name.as_str()),
        why: why.collect(),
    }
}

/// The places with their code, the best first, within what is worth a model's attention.
async fn code(index: &Index, hits: &[Hit], query: &Query) -> String {
    let mut text = String::new();
    let mut shown = Vec::new();
    for hit in hits {
        let definition = hit.symbol.as_ref().map(|symbol| (&hit.path, symbol.first));
        if definition.is_some() && shown.contains(&definition) {
            continue;
        }
        shown.push(definition);
        let _ = write!(text, "{}", output::one_line(&hit.path.to_string()));
        if hit.lines != (0, 0) {
            let _ = write!(text, ":{}-{}", hit.lines.0, hit.lines.1);
        }
        let _ =
            writeln!(text, "{}", hit.symbol.as_ref().map(|it| format!(" {}", it.name)).unwrap_or_default());
        let room = hit.room(text.len());
        if 0 < room {
            let source = index.text(hit).await.unwrap_or_default();
            text.push_str(&hit.excerpt(&source, query, room));
        }
    }
    if text.is_empty() { format!("[{NOTHING}]\n") } else { output::printable(&text) }
}

/// A place for a person: `src/auth.rs:10  login`, and two of its lines with the words that were asked for.
fn place(hit: &Hit, source: &str, query: &Query, style: ColorMode, columns: usize) -> String {
    let path = output::one_line(&hit.path.to_string());
    let begins = hit.symbol.as_ref().map(|symbol| symbol.first);
    let line = begins.filter(|line| (hit.lines.0..=hit.lines.1).contains(line)).unwrap_or(hit.lines.0);
    let at = if line == 0 { path } else { format!("{path}:{line}") };
    let mut text = style.bold(&output::printable(&at));
    if let Some(symbol) = &hit.symbol {
        let _ = write!(text, "  {}", style.cyan(&output::printable(&symbol.name)));
    }
    text.push('\n');
    let preview = hit.preview(source, query);
    let indents = preview.iter().map(|(_, line)| line.len() - line.trim_start().len());
    let indent = indents.min().unwrap_or(0);
    for (number, line) in preview {
        let line = output::shortened(&output::printable(&line[indent..]), columns.saturating_sub(8).max(20));
        let (mut marked, mut end) = (String::new(), 0);
        for mark in query.marks(&line) {
            marked.push_str(&line[end..mark.start]);
            marked.push_str(&style.bold(&line[mark.clone()]));
            end = mark.end;
        }
        let _ = writeln!(text, "{}  {marked}{}", style.dim(&format!("{number:>6}")), &line[end..]);
    }
    text
}
