use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use headstart_code_index::{
    Budget, Hit, IndexError, ModelLocation, NEAREST, Query, TextVector, View, Weights, is_for_judges,
    names_definition, search,
};
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Tree as _, WorkspacePath};
use headstart_tool_gate::ours;
use serde_json::{Map, Value, json};
use tracing::debug;

use super::call_view::{CallView, IndexAccess, SearchKey};
use super::port::{IndexCoverage, IndexState};
use super::snippets::{ResultList, Snippet};
use super::unindexed::UnindexedSearch;
use crate::arguments::Arguments;
use crate::location::locate;
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// The number of places that are found, of which [`ToolLimits::places`](crate::ToolLimits::places) are shown. A model
/// that reranks gets twice as many.
const CANDIDATES: usize = 25;
const CANDIDATES_FOR_RERANKING: usize = 2 * CANDIDATES;

/// Finds the places that match a query best.
pub(super) struct Codebase {
    pub(super) access: Arc<IndexAccess>,
}

/// What the index answered.
struct SearchResult {
    hits: Vec<Hit>,
    coverage: IndexCoverage,
    /// If it does not hold all files, those that it holds.
    indexed: HashSet<WorkspacePath>,
}

#[async_trait]
impl Tool for Codebase {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::CODEBASE.name,
            "Finds the places of the project that fit a question, words or the name of a definition best, by an index of \
             the files as they are now, your own edits included. Returns them best first as path:first-last and the \
             definition there, with numbered lines of them. For a question whose exact spelling is not known; grep finds \
             every line that matches a pattern.",
            &json!({
                "query": {
                    "type": "string",
                    "description": "What to look for: where are passwords checked, parse_query, retry of failed payments."
                },
                "path": {
                    "type": "string",
                    "description": "The file or folder to search: relative to the workspace, or absolute inside it. \
                                    Default: the workspace."
                },
            }),
            &["query"],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = Arguments::new(&ours::CODEBASE, args, &["query", "path"])?;
        let text = arguments.required_text("query")?.to_owned();
        let below = match arguments.path()? {
            None => None,
            Some(path) => Some(locate(path, context).await?),
        };
        if let Some(below) = &below {
            context.view.metadata(below).await?;
        }
        let call_view = self.access.call_view(context).await?;
        // A query of work ahead stays on this machine.
        let location = if context.attended { ModelLocation::Remote } else { ModelLocation::Local };
        let (meaning, ranks) = self.ask_models(&text, below.as_ref(), &call_view, location).await?;
        let (access, delta, asked_below) = (Arc::clone(&self.access), call_view.delta.clone(), below.clone());
        let query_text = text.clone();
        let answer = self.access.with_index(move |moment| {
            let generation = (moment.generation, delta.key());
            let question = SearchKey { query: query_text, below: asked_below, generation };
            // Vectors change without a new generation of the index, so answers with them are not cached.
            let is_cacheable = meaning.is_none() && !ranks;
            let staged = access.staged_layer(moment, &delta)?;
            let view = View::new(moment.snapshot, [staged.as_ref()]);
            let hits = if let Some(hits) = access.cached_hits(&question).filter(|_| is_cacheable) {
                hits
            } else {
                let mut query = query(&question.query, question.below.as_ref(), |path| view.has(path));
                if let Some(meaning) = &meaning {
                    query = query.with_nearest(moment.snapshot.nearest(meaning, NEAREST)?);
                }
                let budget = Budget {
                    hits: if ranks { CANDIDATES_FOR_RERANKING } else { CANDIDATES },
                    ..Budget::default()
                };
                let hits = search(&view, &query, budget, moment.recent, &Weights::for_view(&view))?;
                if is_cacheable {
                    access.cache_hits(question, hits.clone());
                }
                hits
            };
            Ok::<_, IndexError>(SearchResult { hits, ..SearchResult::of(moment) })
        });
        let answer = answer.await?.map_err(ToolError::of)?;
        debug!(
            hits = answer.hits.len(),
            percent = answer.coverage.percent,
            by_models = ranks,
            "the index was asked"
        );

        // The index knows its own paths; here a path in the text counts if the view has it.
        let query =
            query(&text, below.as_ref(), |path| answer.hits.iter().any(|hit| hit.path.starts_with(path)));
        let mut results = ResultList::new(context, &call_view);
        let mut found = Vec::with_capacity(answer.hits.len());
        for hit in &answer.hits {
            found.extend(results.read(hit, &query).await);
        }
        if ranks {
            self.rerank(&text, &mut found, location).await;
        }
        let hits: Vec<Hit> = found.iter().map(|place| place.hit.clone()).collect();
        // In the order that a model gave, the scores have no gap.
        let telling = if ranks { hits.len() } else { Hit::telling(&hits) };
        for place in found.iter().take(telling.min(context.limits.places)) {
            results.show(place, &query).await;
        }
        if !answer.coverage.is_complete() {
            let unindexed =
                UnindexedSearch { call_view: &call_view, indexed: &answer.indexed, below: below.as_ref() };
            results.show_unindexed(unindexed.search(&query, context).await?).await;
        }
        Ok(results.finish(&answer.coverage))
    }
}

impl Codebase {
    /// The vector of a query, and whether a model ranks what is found. No model is asked if the query names a
    /// definition, because then it says exactly what it means.
    async fn ask_models(
        &self,
        text: &str,
        below: Option<&WorkspacePath>,
        call_view: &CallView,
        location: ModelLocation,
    ) -> Result<(Option<TextVector>, bool), ToolError> {
        let served = self.access.index.available_models(location);
        let ranks = served.ranks && is_for_judges(text);
        if !served.embeds && !ranks {
            return Ok((None, false));
        }
        let (access, delta) = (Arc::clone(&self.access), call_view.delta.clone());
        let (query_text, below) = (text.to_owned(), below.cloned());
        let names = self.access.with_index(move |moment| {
            let staged = access.staged_layer(moment, &delta)?;
            let view = View::new(moment.snapshot, [staged.as_ref()]);
            let query = query(&query_text, below.as_ref(), |path| view.has(path));
            names_definition(&view, &query)
        });
        if names.await?.map_err(|error: IndexError| ToolError::of(error))? {
            return Ok((None, false));
        }
        let meaning = if served.embeds { self.access.index.embed_query(text, location).await } else { None };
        Ok((meaning, ranks))
    }

    /// Sorts the findings by a model's order. Without one, nothing changes.
    async fn rerank(&self, text: &str, found: &mut Vec<Snippet>, location: ModelLocation) {
        let passages: Vec<String> = found.iter().map(Snippet::passage).collect();
        let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
        let Some(order) = self.access.index.rank_passages(text, &passages, location).await else { return };
        let mut given: Vec<Option<Snippet>> = std::mem::take(found).into_iter().map(Some).collect();
        found.extend(order.into_iter().filter_map(|at| given.get_mut(at)?.take()));
        // What the order leaves out comes last.
        found.extend(given.into_iter().flatten());
    }
}

impl SearchResult {
    fn of(moment: &IndexState<'_>) -> Self {
        let coverage = moment.coverage.clone();
        let indexed = if coverage.is_complete() {
            HashSet::new()
        } else {
            moment.snapshot.catalogue().paths().cloned().collect()
        };
        Self { hits: Vec::new(), coverage, indexed }
    }
}

fn query(text: &str, below: Option<&WorkspacePath>, is_there: impl Fn(&WorkspacePath) -> bool) -> Query {
    let query = Query::parse(text, is_there);
    match below {
        Some(below) => query.below(below.clone()),
        None => query,
    }
}
