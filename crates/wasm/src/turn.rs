use std::rc::Rc;
use std::sync::PoisonError;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::Shared;
use headstart_speculation::{Cost, Ending, Events, Transcript, Turn};
use js_sys::Promise;
use serde::Serialize;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::cancel::Cancellable;
use crate::events::EventReader;
use crate::failure::json;
use crate::host::PortHost;
use crate::promise::promise;

/// A turn in the foreground, which goes on whether or not its handle is held.
#[wasm_bindgen]
pub struct TurnHandle {
    work: Rc<Cancellable<dyn Future<Output = Ending>>>,
    events: EventReader,
    finished: Shared<oneshot::Receiver<String>>,
}

/// How the turn ended.
#[derive(Serialize)]
struct TurnFields {
    ending: Ending,
    transcript: Transcript,
    cost: Cost,
}

impl TurnHandle {
    pub(crate) fn start(turn: Turn, events: Events, host: PortHost) -> Self {
        let turn = Rc::new(turn);
        let running = Rc::clone(&turn);
        let work: Rc<Cancellable<dyn Future<Output = Ending>>> =
            Cancellable::new(Box::pin(async move { running.run().await }));
        let (send, finished) = oneshot::channel();
        let waited = Rc::clone(&work);
        js_sys::futures::spawn_local(async move {
            let mut ending = waited.wait(Future::poll).await.unwrap_or(Ending::Aborted);
            let consent_failure = host.consent_failure.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(message) = consent_failure {
                ending = Ending::failed("consent", format!("consent could not be asked for: {message}"));
            }
            let record = TurnFields { ending, transcript: turn.transcript(), cost: turn.cost() };
            // The receiver is gone if nobody wants to know.
            let _ = send.send(json(&record));
        });
        Self { work, events: EventReader::new(events), finished: finished.shared() }
    }
}

#[wasm_bindgen]
impl TurnHandle {
    /// The next event, as JSON; nothing at the end.
    #[wasm_bindgen(js_name = nextEvent)]
    pub fn next_event(&self) -> Promise {
        self.events.next()
    }

    /// Waits for the end. The answer is a record of it as JSON.
    pub fn finished(&self) -> Promise {
        let finished = self.finished.clone();
        promise(Box::pin(async move { Ok(finished.await.map_or(JsValue::UNDEFINED, JsValue::from)) }))
    }

    /// Interrupts the turn where it is.
    pub fn abort(&self) {
        self.work.cancel();
    }

    /// Closes the handle: the turn is interrupted.
    pub fn close(&self) {
        self.work.cancel();
        self.events.close();
    }
}
