//! Search over a project's files, and a model's two tools for it. This is a separate module, which a page fetches when
//! it searches.

mod live_index;
mod staged_tree;

use std::sync::Arc;

use headstart_code_index::{Budget, Hit, MatchReason, Symbol, SymbolKind};
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{ChangeSet, Overlay, Quota, Tree, WorkspacePath};
use headstart_tool_gate::GateContext;
use headstart_toolbox::{ContextItem, ProjectIndex, ProjectSearch, Tool, ToolContext, ToolError, ToolLimits};
use js_sys::Promise;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use self::live_index::{IndexLimits, LiveIndex};
use self::staged_tree::StagedTree;
use crate::failure::{Failure, json};
use crate::input::parse;
use crate::paths::path;
use crate::promise::promise;
use crate::rules::Rules;
use crate::tree_port::{PortTree, TreePort};

/// The index of a tree of the host.
#[wasm_bindgen]
pub struct CodeIndexHandle(Arc<SearchService>);

struct SearchService {
    live_index: Arc<LiveIndex>,
    search: ProjectSearch,
    tools: Vec<Arc<dyn Tool>>,
    rules: GateContext,
}

/// The options of a search.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct SearchOptions {
    path: Option<String>,
    limit: Option<u32>,
}

/// A definition that the host found.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    name: String,
    kind: Kind,
    lines: (u32, u32),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Function,
    Type,
    Module,
    Constant,
    Macro,
    Scope,
}

/// A [`Hit`] in JSON, as `headstart search --json` prints it.
#[derive(Serialize)]
struct HitFields<'a> {
    path: &'a WorkspacePath,
    lines: (u32, u32),
    score: f32,
    symbol: Option<&'a str>,
    why: Vec<MatchFields<'a>>,
}

#[derive(Serialize)]
struct MatchFields<'a> {
    term: &'a str,
    field: &'static str,
    part: f32,
}

#[wasm_bindgen]
impl CodeIndexHandle {
    /// Makes an index into which nothing is read yet. `rules` and `most` are JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(tree: TreePort, rules: &str, most: &str) -> Result<Self, Failure> {
        let rules = parse::<Rules>("", rules)?.into_context("")?;
        let most: IndexLimits = parse("", most)?;
        let live_index = Arc::new(LiveIndex::new(Arc::new(PortTree::new(tree)), rules.deny.clone(), &most));
        let search = ProjectSearch::new(Arc::clone(&live_index) as Arc<dyn ProjectIndex>);
        let tools = search.tools();
        Ok(Self(Arc::new(SearchService { live_index, search, tools, rules })))
    }

    /// Has all files looked at in the next steps.
    pub fn look(&self) {
        self.0.live_index.request_scan();
    }

    /// Reports that what is at the path or below may have changed. Searches take this into account from now on.
    pub fn changed(&self, text: &str) -> Result<(), Failure> {
        self.0.live_index.changed(path(text)?);
        Ok(())
    }

    /// Does a part of the work, which takes some milliseconds. The answer says whether there is more.
    pub fn step(&self) -> Promise {
        let live_index = Arc::clone(&self.0.live_index);
        promise(Box::pin(async move { Ok(JsValue::from_bool(live_index.step().await?)) }))
    }

    /// Reports that the path has this content; `definitions` is JSON.
    pub fn put(&self, text: &str, content: Vec<u8>, definitions: Option<String>) -> Result<Promise, Failure> {
        let (live_index, path) = (Arc::clone(&self.0.live_index), path(text)?);
        let definitions = definitions.map(|text| parse("definitions", &text)).transpose()?.map(symbols);
        Ok(promise(Box::pin(async move {
            live_index.put(&path, content, definitions).await?;
            Ok(JsValue::UNDEFINED)
        })))
    }

    /// Reports that nothing is at the path any more, nor below it.
    pub fn remove(&self, text: &str) -> Result<Promise, Failure> {
        let (live_index, path) = (Arc::clone(&self.0.live_index), path(text)?);
        Ok(promise(Box::pin(async move {
            live_index.remove(&path).await;
            Ok(JsValue::UNDEFINED)
        })))
    }

    /// The progress of the index, as JSON.
    pub fn progress(&self) -> String {
        json(&self.0.live_index.progress())
    }

    /// Searches. The answer is the JSON text of a list of hits; `staged` is the JSON text of a change set.
    pub fn search(&self, query: &str, options: &str, staged: Option<String>) -> Result<Promise, Failure> {
        let SearchOptions { path: below, limit } = parse("options", options)?;
        let below = below.as_deref().map(path).transpose()?;
        let staged =
            staged.map_or_else(|| Ok(ChangeSet::default()), |text| parse("options.staged", &text))?;
        let defaults = Budget::default();
        let hits = limit.map_or(defaults.hits, |limit| limit as usize);
        let (service, query) = (Arc::clone(&self.0), query.to_owned());
        Ok(promise(Box::pin(async move {
            let view = Overlay::from_change_set(service.live_index.files(), Quota::default(), &staged)?;
            let budget = Budget { hits, ..defaults };
            let (view, limits) = (Arc::new(view), ToolLimits::default());
            let context = service.context(&view, &limits);
            let hits =
                service.search.hits(&query, below, budget, context).await.map_err(|error| failure(&error))?;
            Ok(json(&hits.iter().map(HitFields::of).collect::<Vec<_>>()).into())
        })))
    }

    /// The tools as they are offered to a model, as JSON.
    pub fn tools(&self) -> String {
        json(&self.0.tools.iter().map(|tool| tool.schema()).collect::<Vec<ToolSchema>>())
    }

    /// Answers a call of one of the tools, over a view of the tree; `staged` is the JSON text of the change set that is
    /// staged in the view.
    pub fn call(&self, name: &str, args: &str, view: TreePort, staged: &str) -> Result<Promise, Failure> {
        let args: Map<String, Value> = parse("args", args)?;
        let staged: ChangeSet = parse("staged", staged)?;
        let view: Arc<dyn Tree> = Arc::new(StagedTree { tree: PortTree::new(view), staged });
        let (service, name) = (Arc::clone(&self.0), name.to_owned());
        Ok(promise(Box::pin(async move {
            let tool = service.tools.iter().find(|tool| tool.schema().name == name);
            let tool = tool.ok_or_else(|| Failure::input("name", format!("there is no tool {name:?}")))?;
            let (view, limits) = (Arc::new(Overlay::new(view, Quota::default())), ToolLimits::default());
            let output = tool.run(&args, service.context(&view, &limits)).await;
            let (text, items) = output.map_err(|error| failure(&error))?.into_parts();
            Ok(json(&ToolAnswer { text, items }).into())
        })))
    }
}

/// The answer of a tool: the text that the model reads, and its parts.
#[derive(Serialize)]
struct ToolAnswer {
    text: String,
    items: Vec<ContextItem>,
}

impl SearchService {
    fn context<'a>(&'a self, view: &'a Arc<Overlay>, limits: &'a ToolLimits) -> ToolContext<'a> {
        ToolContext { view, gate: &self.rules, limits, hardened: None, consented: false, attended: false }
    }
}

impl<'a> HitFields<'a> {
    fn of(hit: &'a Hit) -> Self {
        let Hit { path, lines, score, symbol, why, .. } = hit;
        let why =
            why.iter().map(|MatchReason { term, field, part }| MatchFields { term, field, part: *part });
        Self {
            path,
            lines: *lines,
            score: *score,
            symbol: symbol.as_ref().map(|it| it.name.as_str()),
            why: why.collect(),
        }
    }
}

fn symbols(definitions: Vec<Definition>) -> Vec<Symbol> {
    let symbol = |Definition { name, kind, lines: (first, last) }| {
        let kind = match kind {
            Kind::Function => SymbolKind::Function,
            Kind::Type => SymbolKind::Type,
            Kind::Module => SymbolKind::Module,
            Kind::Constant => SymbolKind::Constant,
            Kind::Macro => SymbolKind::Macro,
            Kind::Scope => SymbolKind::Scope,
        };
        Symbol { name, kind, first, last }
    };
    definitions.into_iter().map(symbol).collect()
}

/// The failure, in words for the model.
fn failure(error: &ToolError) -> Failure {
    Failure::new("tool", error.to_string())
}
