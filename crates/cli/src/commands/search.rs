//! `headstart search`: the places of a project that match a text best.

use std::fmt::Write as _;
use std::time::Duration;

use headstart_code_index::{
    Budget, Hit, ModelLocation, NEAREST, Query, Snapshot as _, View, Weights, is_for_judges,
    names_definition, needs_translation, search,
};
use headstart_machine::config::Flags;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::index::{Index, IndexModels};
use headstart_machine::{output, workspace};
use headstart_overlay_fs::WorkspacePath;
use serde::Serialize;

use crate::args::Search;

/// How long a search updates the index before it answers from what the index contains.
const PATIENCE: Duration = Duration::from_secs(2);

/// The name of the index's note with the words that a model gave for queries.
const WORDS: &str = "words";

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
    if updated.progress.percent() < 100 {
        let percent = updated.progress.percent();
        output::note(&format!("indexed {percent} % of the files so far; headstart index does the rest"));
    }
    let hits = ranked_hits(&index, &args, &models).await?;
    models.notices().iter().for_each(|notice| output::note(notice));
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

async fn ranked_hits(index: &Index, args: &Search, models: &IndexModels) -> Result<Vec<Hit>, CliError> {
    let typed = args.text();
    let below = args.path.as_ref().map(|folder| {
        WorkspacePath::parse(folder).map_err(|error| CliError::Unavailable(format!("--path: {error}")))
    });
    let below = below.transpose()?;
    let query = |view: &View<'_>, text: &str| {
        let query = Query::parse(text, |path| view.has(path));
        below.iter().fold(query, |query, folder| query.below(folder.clone()))
    };
    let (names, is_foreign) = {
        let snapshot = index.store.snapshot()?;
        let view = View::new(&snapshot, []);
        let query = query(&view, &typed);
        let names = names_definition(&view, &query)?;
        (names, !names && needs_translation(&view, &query)?)
    };
    let english = if is_foreign && !args.no_translate { english(index, args, models).await? } else { None };
    if is_foreign && english.is_none() {
        output::note("the code has few words of the query's language; English ones find more");
    }
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
    // The words of a model come first, so that the limit of terms does not drop any of them.
    let text = english.map(|words| format!("{words} {typed}"));
    let mut query = query(&view, text.as_deref().unwrap_or(&typed));
    if let Some(meaning) = &meaning {
        query = query.with_nearest(snapshot.nearest(meaning, NEAREST)?);
    }
    let budget = Budget { hits: if ranks { 2 * args.limit } else { args.limit }, ..Budget::default() };
    let mut hits = search(&view, &query, budget, &recent, &Weights::for_view(&view))?;
    drop(snapshot);
    if ranks {
        hits = judged(index, args, models, hits).await;
    }
    Ok(hits)
}

/// English words for the query, from the user's model or from the note of its earlier answers.
async fn english(index: &Index, args: &Search, models: &IndexModels) -> Result<Option<String>, CliError> {
    models.remember_words(&index.store.note(WORDS)?.unwrap_or_default());
    let words = models.translate_query(&args.text(), ModelLocation::Remote).await;
    if let Some(known) = models.known_words()
        && let Err(error) = index.store.set_note(WORDS, &known)
    {
        output::note(&format!("the words are not kept for the next search: {error}"));
    }
    Ok(words)
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
    order.into_iter().filter_map(|at| hits.get(at).cloned()).take(args.limit).collect()
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
        symbol: hit.symbol.as_deref(),
        why: why.collect(),
    }
}

/// A result as text: `src/auth.rs:10-32  login  (login, password)`
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
