use std::cell::Cell;
use std::rc::Rc;

use headstart_speculation::{Acceptance, Accepted, Events, Finished, Speculation};
use js_sys::{Array, Promise};
use serde_json::{Value, json};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::events::Told;
use crate::failure::json as text_of;
use crate::promise::promise;

/// A prompt that runs ahead.
#[wasm_bindgen]
pub struct SpeculationHandle(Rc<Held>);

/// What the handle and every promise of it hold. When all of them are gone nobody can take the work, and it is given up.
struct Held {
    speculation: Speculation,
    told: Option<Told>,
    accepted: Cell<bool>,
    /// Whether somebody else has a handle of the step above.
    has_given_above: Cell<bool>,
}

impl Held {
    /// An abort takes the step above along, which stays if this one was accepted and somebody has it.
    fn give_up(&self) {
        if !(self.accepted.get() && self.has_given_above.get()) {
            self.speculation.abort();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl SpeculationHandle {
    pub(crate) fn new(speculation: Speculation, events: Option<Events>) -> Self {
        Self(Rc::new(Held {
            speculation,
            told: events.map(Told::new),
            accepted: Cell::new(false),
            has_given_above: Cell::new(false),
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

    /// Where it is, as JSON.
    pub fn status(&self) -> String {
        text_of(&self.0.speculation.status())
    }

    /// What it cost so far, as JSON.
    pub fn cost(&self) -> String {
        text_of(&self.0.speculation.cost())
    }

    /// What it has come to so far, as JSON.
    pub fn transcript(&self) -> String {
        text_of(&self.0.speculation.transcript())
    }

    /// What it would change so far: the text of a change set.
    pub fn changes(&self) -> String {
        text_of(&self.0.speculation.changes())
    }

    /// What happens next, as JSON; nothing at the end.
    #[wasm_bindgen(js_name = nextEvent)]
    pub fn next_event(&self) -> Promise {
        match &self.0.told {
            Some(told) => told.next(),
            None => Promise::resolve(&JsValue::UNDEFINED),
        }
    }

    /// Waits for the end of the work: a record of it as JSON, and the text of its change set.
    pub fn finished(&self) -> Promise {
        let held = Rc::clone(&self.0);
        promise(Box::pin(async move {
            let finished = held.speculation.finished().await;
            Ok(Array::of2(&record(&finished).to_string().into(), &text_of(&finished.changes).into()).into())
        }))
    }

    /// Waits for the suggestions for what comes after: a JSON list, best first.
    pub fn next(&self) -> Promise {
        let held = Rc::clone(&self.0);
        promise(Box::pin(async move {
            let best = held.speculation.next().await;
            let others = best.iter().flat_map(|_| held.speculation.other_candidates());
            let all: Vec<_> = best.iter().cloned().chain(others).collect();
            Ok(text_of(&all).into())
        }))
    }

    /// Waits for the step above: a handle, or nothing.
    pub fn above(&self) -> Promise {
        let held = Rc::clone(&self.0);
        promise(Box::pin(async move {
            let Some(above) = held.speculation.above().await else { return Ok(JsValue::UNDEFINED) };
            held.has_given_above.set(true);
            let events = above.events();
            Ok(SpeculationHandle::new(above, events).into())
        }))
    }

    /// Hands the work over; the outcome as JSON.
    pub fn accept(&self) -> Promise {
        let held = Rc::clone(&self.0);
        promise(Box::pin(async move {
            let acceptance = held.speculation.accept().await?;
            if matches!(acceptance, Acceptance::Accepted(_)) {
                held.accepted.set(true);
            }
            Ok(told(&acceptance).to_string().into())
        }))
    }

    /// Gives it up.
    pub fn abort(&self) {
        self.0.speculation.abort();
    }

    /// The handle goes: what nobody took is given up.
    pub fn close(&self) {
        self.0.give_up();
        if let Some(told) = &self.0.told {
            told.close();
        }
    }
}

fn record(finished: &Finished) -> Value {
    let Finished { id, prompt, ending, transcript, cost, .. } = finished;
    let mut record =
        json!({ "id": id, "prompt": prompt, "ending": ending, "transcript": transcript, "cost": cost });
    if let Some(call) = finished.pending_call() {
        record["pendingCall"] = json!(call);
    }
    record
}

fn told(acceptance: &Acceptance) -> Value {
    match acceptance {
        Acceptance::Accepted(accepted) => told_accepted(accepted),
        Acceptance::Conflict(conflicts) => json!({ "type": "conflict", "conflicts": conflicts }),
        Acceptance::Withdrawn { call, verdict } => {
            json!({ "type": "withdrawn", "call": call, "verdict": verdict })
        }
        Acceptance::Discarded => json!({ "type": "discarded" }),
        _ => json!({ "type": "nothing" }),
    }
}

fn told_accepted(accepted: &Accepted) -> Value {
    let Accepted { changes, merged, stale_reads, transcript, ending, next, time_saved_ms } = accepted;
    let mut told = json!({
        "type": "accepted",
        "changes": changes,
        "merged": merged,
        "staleReads": stale_reads,
        "transcript": transcript,
        "ending": ending,
        "timeSavedMs": time_saved_ms,
    });
    if let Some(call) = transcript.pending_call() {
        told["pendingCall"] = json!(call);
    }
    if let Some(next) = next {
        told["next"] = json!(next);
    }
    told
}
