use std::rc::Rc;

use futures::Stream;
use headstart_speculation::Events;
use js_sys::Promise;
use wasm_bindgen::JsValue;

use crate::cancel::Cancellable;
use crate::failure::json;
use crate::promise::promise;

/// The events of a run, for one reader at a time.
#[derive(Clone)]
pub(crate) struct EventReader(Rc<Cancellable<Events>>);

impl EventReader {
    pub(crate) fn new(events: Events) -> Self {
        Self(Cancellable::new(Box::pin(events)))
    }

    /// The next event as JSON; nothing at the end. It must be asked for only when the previous answer is there.
    pub(crate) fn next(&self) -> Promise {
        let events = Rc::clone(&self.0);
        promise(Box::pin(async move {
            let event = events.wait(Stream::poll_next).await.flatten();
            Ok(event.map_or(JsValue::UNDEFINED, |event| json(&event).into()))
        }))
    }

    /// Ends the reading.
    pub(crate) fn close(&self) {
        self.0.cancel();
    }
}
