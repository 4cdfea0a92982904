use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use headstart_code_index::{Budget, Hit, IndexError, Query, View, Weights, search};
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Tree as _, WorkspacePath};
use serde_json::{Map, Value, json};

use super::look::{Looks, Question, failed};
use super::meanwhile::Meanwhile;
use super::port::IndexMoment;
use super::show::Places;
use crate::arguments::Arguments;
use crate::location::locate;
use crate::{Tool, ToolContext, ToolError};

const NAME: &str = "codebase";

/// Finds the places that fit a query best.
pub(super) struct Codebase {
    pub(super) looks: Arc<Looks>,
}

/// What the index answers.
struct Answer {
    hits: Vec<Hit>,
    percent: u64,
    trouble: Option<String>,
    /// Where it does not hold all files: those that it does.
    known: HashSet<WorkspacePath>,
}

#[async_trait]
impl Tool for Codebase {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            NAME,
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

    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError> {
        let arguments = Arguments::declared(NAME, args, &["query", "path"])?;
        let text = arguments.required_text("query")?.to_owned();
        let below = match arguments.path()? {
            None => None,
            Some(path) => Some(locate(path, context).await?),
        };
        if let Some(below) = &below {
            context.view.metadata(below).await?;
        }
        let look = self.looks.look(context).await?;
        let (looks, delta, asked_below) = (Arc::clone(&self.looks), look.delta.clone(), below.clone());
        let asked = text.clone();
        let answer = self.looks.ask(move |moment| {
            let generation = (moment.generation, delta.key());
            let question = Question { query: asked, below: asked_below, generation };
            let staged = looks.over(moment, &delta)?;
            let view = View::new(moment.snapshot, [staged.as_ref()]);
            let hits = if let Some(hits) = looks.answered(&question) {
                hits
            } else {
                let query = query(&question.query, question.below.as_ref(), |path| view.has(path));
                let hits = search(&view, &query, Budget::default(), moment.recent, &Weights::default())?;
                looks.keep_answer(question, hits.clone());
                hits
            };
            Ok::<_, IndexError>(Answer { hits, ..Answer::of(moment) })
        });
        let answer = answer.await?.map_err(|error| failed(&error.to_string()))?;

        // The index said what is a path of it; here a path in the text counts if it is one of the view.
        let query =
            query(&text, below.as_ref(), |path| answer.hits.iter().any(|hit| hit.path.starts_with(path)));
        let mut places = Places::new(context, &look);
        for hit in &answer.hits {
            places.add(hit, &query).await;
        }
        if answer.percent < 100 {
            let meanwhile = Meanwhile { look: &look, known: &answer.known, below: below.as_ref() };
            places.meanwhile(meanwhile.search(&query, context).await?).await;
        }
        Ok(places.finish(answer.percent, answer.trouble.as_deref()))
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
