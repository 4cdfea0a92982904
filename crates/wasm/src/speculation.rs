use std::cell::RefCell;
use std::rc::Rc;

use headstart_forked_query::ToolCall;
use headstart_overlay_fs::{ChangeSummary, Conflict, LeftOut, WorkspacePath};
use headstart_speculation::{
    AcceptAnswers, Acceptance, Accepted, ApprovalRequest, Cost, Ending, Events, Finished, Speculation,
    Transcript,
};
use headstart_tool_gate::Verdict;
use js_sys::{Array, Promise};
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::events::EventReader;
use crate::failure::json;
use crate::promise::promise;

/// A prompt that runs ahead.
#[wasm_bindgen]
pub struct SpeculationHandle(Rc<HeldSpeculation>);

/// What the handle and each of its promises hold. When all of them are gone, nobody can take the work any more, so it
/// is given up.
struct HeldSpeculation {
    speculation: Speculation,
    events: EventReader,
    /// What the user is asked about, until they answer.
    approval_request: RefCell<Option<ApprovalRequest>>,
}

impl Drop for HeldSpeculation {
    fn drop(&mut self) {
        self.speculation.abort();
    }
}

impl SpeculationHandle {
    pub(crate) fn new(speculation: Speculation, events: Events) -> Self {
        Self(Rc::new(HeldSpeculation {
            speculation,
            events: EventReader::new(events),
            approval_request: RefCell::default(),
        }))
    }
}

#[wasm_bindgen]
impl SpeculationHandle {
    /// The id.
    pub fn id(&self) -> String {
        self.0.speculation.id().to_owned()
    }

    /// The prompt that runs.
    pub fn prompt(&self) -> String {
        self.0.speculation.prompt().to_owned()
    }

    /// The state of the speculation, as JSON.
    pub fn status(&self) -> String {
        json(&self.0.speculation.status())
    }

    /// What it has cost so far, as JSON.
    pub fn cost(&self) -> String {
        json(&self.0.speculation.cost())
    }

    /// What it would add to the conversation so far, as JSON.
    pub fn transcript(&self) -> String {
        json(&self.0.speculation.transcript())
    }

    /// What it would change so far, as the text of a change set.
    pub fn changes(&self) -> String {
        json(&self.0.speculation.changes())
    }

    /// The next event, as JSON; nothing at the end.
    #[wasm_bindgen(js_name = nextEvent)]
    pub fn next_event(&self) -> Promise {
        self.0.events.next()
    }

    /// Waits for the end of the work. The answer is a record of it as JSON, and the text of its change set.
    pub fn finished(&self) -> Promise {
        let shared = Rc::clone(&self.0);
        promise(Box::pin(async move {
            let finished = shared.speculation.finished().await;
            Ok(Array::of2(&json(&FinishedFields::of(&finished)).into(), &json(&finished.changes).into())
                .into())
        }))
    }

    /// Waits for the suggestions for what comes after. The answer is a JSON list, best first.
    pub fn next(&self) -> Promise {
        let shared = Rc::clone(&self.0);
        promise(Box::pin(async move {
            let next = shared.speculation.next().await;
            Ok(json(&next.as_deref().unwrap_or_default()).into())
        }))
    }

    /// Hands over the work; the answer is the outcome as JSON. `agreed` says that the user said yes to what the last
    /// accept asked about.
    pub fn accept(&self, agreed: bool) -> Promise {
        let shared = Rc::clone(&self.0);
        // A yes counts once, and only for what was asked.
        let approval_request = shared.approval_request.take().filter(|_| agreed);
        let answers = approval_request
            .map_or_else(AcceptAnswers::default, |approval_request| approval_request.approve());
        promise(Box::pin(async move {
            let acceptance = shared.speculation.accept_with(&answers).await?;
            if let Acceptance::NeedsApproval(asks) = &acceptance {
                *shared.approval_request.borrow_mut() = Some(asks.clone());
            }
            Ok(json(&AcceptanceFields::of(&acceptance)).into())
        }))
    }

    /// Gives up the work.
    pub fn abort(&self) {
        self.0.speculation.abort();
    }

    /// Closes the handle: work that was not taken is given up.
    pub fn close(&self) {
        self.0.speculation.abort();
        self.0.events.close();
    }
}

/// How the work ended; its change set crosses as a separate text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FinishedFields<'a> {
    id: &'a str,
    prompt: &'a str,
    ending: &'a Ending,
    transcript: &'a Transcript,
    cost: &'a Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_call: Option<&'a ToolCall>,
}

impl<'a> FinishedFields<'a> {
    fn of(finished: &'a Finished) -> Self {
        let Finished { id, prompt, ending, transcript, cost, .. } = finished;
        Self { id, prompt, ending, transcript, cost, pending_call: finished.pending_call() }
    }
}

/// The outcome of an accept.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum AcceptanceFields<'a> {
    Accepted {
        changes: &'a [ChangeSummary],
        merged: &'a [WorkspacePath],
        stale_reads: &'a [Conflict],
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        not_kept: &'a [LeftOut],
        changed_since_view: &'a [WorkspacePath],
        transcript: &'a Transcript,
        ending: &'a Ending,
        time_saved_ms: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pending_call: Option<&'a ToolCall>,
        #[serde(skip_serializing_if = "Option::is_none")]
        next: Option<&'a str>,
    },
    Conflict {
        conflicts: &'a [Conflict],
    },
    Withdrawn {
        call: &'a ToolCall,
        verdict: &'a Verdict,
    },
    AsksFirst {
        changes: Vec<ChangeSummary>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pending_call: Option<&'a ToolCall>,
    },
    Discarded,
    Nothing,
}

impl<'a> AcceptanceFields<'a> {
    fn of(acceptance: &'a Acceptance) -> Self {
        match acceptance {
            Acceptance::Accepted(accepted) => {
                let Accepted {
                    changes,
                    merged,
                    stale_reads,
                    not_kept,
                    changed_since_view,
                    transcript,
                    ending,
                    next,
                    time_saved_ms,
                    ..
                } = accepted;
                Self::Accepted {
                    changes,
                    merged,
                    stale_reads,
                    not_kept,
                    changed_since_view,
                    transcript,
                    ending,
                    time_saved_ms: *time_saved_ms,
                    pending_call: transcript.pending_call(),
                    next: next.as_deref(),
                }
            }
            Acceptance::Conflict(conflicts) => Self::Conflict { conflicts },
            Acceptance::Withdrawn { call, verdict } => Self::Withdrawn { call, verdict },
            Acceptance::NeedsApproval(asks) => {
                Self::AsksFirst { changes: asks.changes().summary(), pending_call: asks.pending_call() }
            }
            Acceptance::Discarded => Self::Discarded,
            _ => Self::Nothing,
        }
    }
}
