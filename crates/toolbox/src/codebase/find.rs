use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use headstart_code_index::{
    Budget, Hit, IndexError, NEAREST, Query, Reach, TextVector, View, Weights, is_for_judges,
    names_definition, needs_translation, search,
};
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Tree as _, WorkspacePath};
use headstart_tool_gate::ours;
use serde_json::{Map, Value, json};
use tracing::debug;

use super::look::{Look, Looks, Question};
use super::meanwhile::Meanwhile;
use super::port::IndexMoment;
use super::show::{Found, Places};
use crate::arguments::Arguments;
use crate::location::locate;
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// The number of places that are found, of which [`Limits::places`](crate::Limits::places) are shown. A model that
/// reranks gets twice as many.
const FOUND: usize = 25;
const JUDGED: usize = 2 * FOUND;

/// Finds the places that match a query best.
pub(super) struct Codebase {
    pub(super) looks: Arc<Looks>,
}

/// What the index answered.
struct Answer {
    hits: Vec<Hit>,
    percent: u64,
    trouble: Option<String>,
    /// If it does not hold all files, those that it holds.
    known: HashSet<WorkspacePath>,
}

#[async_trait]
impl Tool for Codebase {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::CODEBASE.name,
            "Finds the places of the project that fit a question, words or the name of a definition best, by an index of \
             the files as they are now, your own edits included. Returns them best first as path:first-last and the \
             definition there, the best ones with their lines. For a question whose exact spelling is not known; grep finds \
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
        let look = self.looks.look(context).await?;
        // A query of work ahead stays on this machine.
        let reach = if context.attended { Reach::Network } else { Reach::Machine };
        let Asks { meaning, ranks, is_foreign, english } =
            self.asks(&text, below.as_ref(), &look, reach).await?;
        let question = text;
        // The English words come first, so that none of them exceeds the limit of terms.
        let text = english.as_ref().map_or_else(|| question.clone(), |words| format!("{words} {question}"));
        let (looks, delta, asked_below) = (Arc::clone(&self.looks), look.delta.clone(), below.clone());
        let asked = text.clone();
        let answer = self.looks.ask(move |moment| {
            let generation = (moment.generation, delta.key());
            let question = Question { query: asked, below: asked_below, generation };
            // Vectors change without a new generation of the index, so answers with them are not cached.
            let is_kept = meaning.is_none() && !ranks;
            let staged = looks.over(moment, &delta)?;
            let view = View::new(moment.snapshot, [staged.as_ref()]);
            let hits = if let Some(hits) = looks.answered(&question).filter(|_| is_kept) {
                hits
            } else {
                let mut query = query(&question.query, question.below.as_ref(), |path| view.has(path));
                if let Some(meaning) = &meaning {
                    query = query.with_nearest(moment.snapshot.nearest(meaning, NEAREST)?);
                }
                let budget = Budget { hits: if ranks { JUDGED } else { FOUND }, ..Budget::default() };
                let hits = search(&view, &query, budget, moment.recent, &Weights::for_view(&view))?;
                if is_kept {
                    looks.keep_answer(question, hits.clone());
                }
                hits
            };
            Ok::<_, IndexError>(Answer { hits, ..Answer::of(moment) })
        });
        let answer = answer.await?.map_err(ToolError::of)?;
        debug!(hits = answer.hits.len(), percent = answer.percent, by_models = ranks, "the index was asked");

        // The index knows its own paths; here a path in the text counts if the view has it.
        let query =
            query(&text, below.as_ref(), |path| answer.hits.iter().any(|hit| hit.path.starts_with(path)));
        let mut places = Places::new(context, &look);
        let mut found = Vec::with_capacity(answer.hits.len());
        for hit in &answer.hits {
            found.extend(places.read(hit, &query).await);
        }
        if ranks {
            self.rank(&question, &mut found, reach).await;
        }
        for place in found.iter().take(context.limits.places) {
            places.show(place).await;
        }
        if answer.percent < 100 {
            let meanwhile = Meanwhile { look: &look, known: &answer.known, below: below.as_ref() };
            places.meanwhile(meanwhile.search(&query, context).await?).await;
        }
        match english {
            Some(words) => places.note(format!("searched for these words as well: {words}")),
            None if is_foreign => {
                places
                    .note("the code has few words of the query's language; ask again in English".to_owned());
            }
            None => {}
        }
        Ok(places.finish(answer.percent, answer.trouble.as_deref()))
    }
}

/// Which models are asked about a query, and the answer of one of them.
#[derive(Default)]
struct Asks {
    meaning: Option<TextVector>,
    ranks: bool,
    /// Whether the query is in another language than the code.
    is_foreign: bool,
    english: Option<String>,
}

impl Codebase {
    /// Asks no model if the query names a definition, because then it says exactly what it means.
    async fn asks(
        &self,
        text: &str,
        below: Option<&WorkspacePath>,
        look: &Look,
        reach: Reach,
    ) -> Result<Asks, ToolError> {
        let served = self.looks.index.serve(reach);
        let ranks = served.ranks && is_for_judges(text);
        let may_be_foreign = Query::parse(text, |_| false).is_foreign();
        if !served.embeds && !ranks && !may_be_foreign {
            return Ok(Asks::default());
        }
        let (looks, delta) = (Arc::clone(&self.looks), look.delta.clone());
        let (asked, below) = (text.to_owned(), below.cloned());
        let names = self.looks.ask(move |moment| {
            let staged = looks.over(moment, &delta)?;
            let view = View::new(moment.snapshot, [staged.as_ref()]);
            let query = query(&asked, below.as_ref(), |path| view.has(path));
            let names = names_definition(&view, &query)?;
            Ok((names, !names && needs_translation(&view, &query)?))
        });
        let (names, is_foreign) = names.await?.map_err(|error: IndexError| ToolError::of(error))?;
        if names {
            return Ok(Asks::default());
        }
        let meaning = if served.embeds { self.looks.index.meaning(text, reach).await } else { None };
        let is_translated = is_foreign && served.translates;
        let english = if is_translated { self.looks.index.english(text, reach).await } else { None };
        Ok(Asks { meaning, ranks, is_foreign, english })
    }

    /// Sorts the findings by a model's order. Without one, nothing changes.
    async fn rank(&self, text: &str, found: &mut Vec<Found>, reach: Reach) {
        let passages: Vec<String> = found.iter().map(Found::passage).collect();
        let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
        let Some(order) = self.looks.index.order(text, &passages, reach).await else { return };
        let mut given: Vec<Option<Found>> = std::mem::take(found).into_iter().map(Some).collect();
        found.extend(order.into_iter().filter_map(|at| given.get_mut(at)?.take()));
        // What the order leaves out comes last.
        found.extend(given.into_iter().flatten());
    }
}

impl Answer {
    fn of(moment: &IndexMoment<'_>) -> Self {
        let percent = moment.standing.percent;
        let known = match percent {
            100 => HashSet::new(),
            _ => moment.snapshot.catalogue().paths().cloned().collect(),
        };
        Self { hits: Vec::new(), percent, trouble: moment.standing.trouble.clone(), known }
    }
}

fn query(text: &str, below: Option<&WorkspacePath>, is_there: impl Fn(&WorkspacePath) -> bool) -> Query {
    let query = Query::parse(text, is_there);
    match below {
        Some(below) => query.below(below.clone()),
        None => query,
    }
}
