use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use headstart_followup_state::Suggestion;
use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, Generated, Guards, ModelError, ModelRequest, Suppressed,
    SuppressionReason, TurnEnd, Usage, check_pairing, generate_candidates,
};
use headstart_providers::Priority;
use headstart_speculation::{Engine, Transcript};
use headstart_tool_gate::{ApprovalMode, Gate, GateContext};
use headstart_toolbox::CommandRunner;
use js_sys::Promise;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::cancel::Cancellable;
use crate::failure::{Failure, json};
use crate::history::Conversation;
use crate::host::PortHost;
use crate::input::parse;
use crate::model::PortModel;
use crate::options::{Options, foreground};
use crate::port::{Callbacks, HostPort};
use crate::promise::promise;
use crate::rules::Rules;
use crate::speculation::SpeculationHandle;
use crate::tools::{PortRunner, built_in, declarations, with_own_tools};
use crate::tree::TreeHandle;
use crate::turn::TurnHandle;

/// Everything with which work runs.
#[wasm_bindgen]
pub struct EngineHandle {
    engine: Engine,
    host: PortHost,
    /// The number of the last speculation, for the next id.
    last: Cell<u64>,
}

/// The beginning of a turn: exactly one of the two.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnStart {
    prompt: Option<String>,
    transcript: Option<Transcript>,
}

#[wasm_bindgen]
impl EngineHandle {
    /// `options` and `rules` are JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str, rules: &str, port: HostPort, tree: TreeHandle) -> Result<Self, Failure> {
        let (engine, host) = engine(options, rules, port, tree)?;
        Ok(Self { engine, host, last: Cell::default() })
    }

    /// The tools as they are offered to the model, as JSON.
    pub fn tools(&self) -> String {
        json(&self.engine.offered_tools())
    }

    /// Asks for the user's next prompt.
    pub fn suggest(&self, conversation: &str, candidates: u32) -> Result<SuggestionHandle, Failure> {
        let params = self.params(Conversation::parse(conversation)?);
        let background = self.engine.background.clone();
        let plan_mode = self.engine.host.gate_context().mode == ApprovalMode::Plan;
        let guards = Guards { turn: TurnEnd::Completed, plan_mode };
        Ok(SuggestionHandle(Cancellable::new(Box::pin(async move {
            let result = generate_candidates(&background, &params, &[], guards, candidates as usize).await;
            json(&match &result {
                Ok(Generated { suggestions, usage }) => SuggestionFields::Made {
                    suggestion: suggestions.best(),
                    others: suggestions.others(),
                    usage: *usage,
                },
                Err(Suppressed { reason, usage }) => {
                    let failure = match &reason {
                        SuppressionReason::QueryFailed(error) => Some(error),
                        _ => None,
                    };
                    SuggestionFields::None {
                        suppressed: reason.as_str(),
                        usage: *usage,
                        error: failure.map(ToString::to_string),
                        code: failure.map(|error| error.code().to_owned()),
                        retry_after_ms: failure.and_then(ModelError::retry_after_ms),
                    }
                }
            })
        }))))
    }

    /// Begins to run a prompt ahead.
    pub fn speculate(
        &self,
        conversation: &str,
        prompt: &str,
        id: Option<String>,
    ) -> Result<SpeculationHandle, Failure> {
        let params = self.params(Conversation::parse(conversation)?);
        let id = id.unwrap_or_else(|| {
            self.last.set(self.last.get() + 1);
            format!("s{}", self.last.get())
        });
        let (speculation, driver, events) = self.engine.start(id, &params, prompt)?;
        js_sys::futures::spawn_local(driver);
        Ok(SpeculationHandle::new(speculation, events))
    }

    /// Begins a turn in the foreground. `next` is JSON: `{"prompt"}` or `{"transcript"}`.
    pub fn turn(&self, conversation: &str, next: &str) -> Result<TurnHandle, Failure> {
        let Conversation { system, messages } = Conversation::parse(conversation)?;
        let TurnStart { prompt, transcript } = parse("next", next)?;
        let transcript = match (prompt, transcript) {
            (Some(prompt), None) if prompt.trim().is_empty() => {
                return Err(Failure::input("next.prompt", "is empty"));
            }
            (Some(prompt), None) => Transcript::new(&prompt),
            (None, Some(transcript)) => {
                check_pairing(&transcript.messages)
                    .map_err(|error| Failure::input("next.transcript.messages", error.to_string()))?;
                transcript
            }
            _ => return Err(Failure::input("next", "must have either a `prompt` or a `transcript`")),
        };
        let request = ModelRequest {
            model: self.engine.background.name.clone(),
            system,
            tools: self.engine.toolbox.schemas(),
            messages,
            thinking: true,
            response_schema: None,
            max_output_tokens: None,
        };
        let host = PortHost { consent_failure: Arc::default(), ..self.host.clone() };
        let engine = Engine { host: Arc::new(host.clone()), ..self.engine.clone() };
        let callbacks = Arc::clone(&self.host.callbacks);
        let model = PortModel { callbacks, priority: Priority::Foreground };
        let (turn, events) = engine.turn(Arc::new(model), request, transcript, foreground(&engine.limits));
        Ok(TurnHandle::start(turn, events, host))
    }
}

impl EngineHandle {
    fn params(&self, Conversation { system, messages }: Conversation) -> CacheSafeParams {
        let tools = self.engine.toolbox.schemas();
        CacheSafeParams::new(system, tools, &messages, &self.engine.background.name)
    }
}

/// An engine and its host.
pub(crate) fn engine(
    options: &str,
    rules: &str,
    port: HostPort,
    tree: TreeHandle,
) -> Result<(Engine, PortHost), Failure> {
    let options: Options = parse("", options)?;
    let callbacks = Arc::new(Callbacks::new(port));
    let limits = options.limits()?;
    let runner = || Arc::new(PortRunner(Arc::clone(&callbacks))) as Arc<dyn CommandRunner>;
    let toolbox = built_in(options.runs_commands.then(runner), options.has_rules);
    let tools = declarations(&options.tools, options.reads, &toolbox);
    let own: Vec<_> = options.tools.iter().map(|tool| tool.name.clone()).collect();
    let toolbox = with_own_tools(toolbox, options.tools, &callbacks)?;
    let rules = GateContext {
        ahead_writes: options.ahead_writes,
        tools,
        ..parse::<Rules>("", rules)?.for_engine(&own)?
    };
    let toolbox = toolbox.keeping(|name| !rules.tool_policies.excludes(name));
    let host = PortHost {
        callbacks: Arc::clone(&callbacks),
        rules: Arc::new(Mutex::new(rules)),
        commit: options.commit.options(),
        at_boundary: options.at_boundary.into(),
        consent_failure: Arc::default(),
        beside: None,
    };
    let model = PortModel { callbacks, priority: Priority::Background };
    let engine = Engine {
        background: BackgroundModel::main(Arc::new(model), options.model_name),
        toolbox,
        workspace: tree.workspace()?,
        gate: Arc::new(Gate::new()),
        host: Arc::new(host.clone()),
        limits,
    };
    Ok((engine, host))
}

/// The result of a query for a suggestion.
#[derive(Serialize)]
#[serde(untagged)]
enum SuggestionFields<'a> {
    Made {
        suggestion: &'a Suggestion,
        others: &'a [Suggestion],
        usage: Usage,
    },
    None {
        suppressed: &'static str,
        usage: Usage,
        /// Why the model gave none, in the form of an [`Ending`](headstart_speculation::Ending).
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        #[serde(rename = "retryAfterMs", skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
}

/// A query for a suggestion.
#[wasm_bindgen]
pub struct SuggestionHandle(Rc<Cancellable<dyn Future<Output = String>>>);

#[wasm_bindgen]
impl SuggestionHandle {
    /// The result as JSON; nothing if the query was cancelled.
    pub fn answer(&self) -> Promise {
        let query = Rc::clone(&self.0);
        promise(Box::pin(async move { Ok(query.wait(Future::poll).await.into()) }))
    }

    /// Cancels the query, because its answer is not wanted any more.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}
