use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, Stream};
use headstart_forked_query::{Model, ModelError, ModelEvent};
use headstart_providers::{Recording, RecordingError, Replay};
use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::cancel::Cancellable;
use crate::clock::{Clock, ClockPort};
use crate::exchange::{event_to_json, request_from_json};
use crate::failure::Failure;
use crate::input::{join, wrong};
use crate::promise::promise;

/// A model that plays a recording.
#[wasm_bindgen]
pub struct RecordedHandle(Replay);

type Events = dyn Stream<Item = Result<ModelEvent, ModelError>>;

/// One answer of the recorded model.
#[wasm_bindgen]
pub struct AnswerHandle(Rc<Cancellable<Events>>);

#[wasm_bindgen]
impl RecordedHandle {
    /// `recording` is JSON; `speed` is how many times faster than recorded it plays; `clock` does the waiting.
    #[wasm_bindgen(constructor)]
    pub fn new(recording: &str, speed: f64, clock: ClockPort) -> Result<Self, Failure> {
        let recording = Recording::parse(recording).map_err(|error| recording_failure(&error))?;
        if speed.is_nan() || speed <= 0.0 {
            return Err(Failure::input("options.speed", format!("must be more than 0, and is {speed}")));
        }
        if speed.is_infinite() {
            return Ok(Self(Replay::instant(recording)));
        }
        let clock = Clock::new(clock);
        let scaled = move |time: Duration| {
            // A time that cannot be represented is longer than a life, so it does not matter how long it is.
            let time = Duration::try_from_secs_f64(time.as_secs_f64() / speed).unwrap_or(Duration::MAX);
            clock.sleep(time).elapsed().boxed()
        };
        Ok(Self(Replay::new(recording, Arc::new(scaled))))
    }

    /// Begins the next answer.
    pub fn stream(&self, request: &str) -> Result<AnswerHandle, Failure> {
        let request = request_from_json(request)?;
        let stream = self.0.stream(&request).now_or_never();
        let events = stream.expect("works because a recording is there at once")?;
        Ok(AnswerHandle(Cancellable::new(events)))
    }
}

#[wasm_bindgen]
impl AnswerHandle {
    /// The next event as JSON; nothing at the end.
    pub fn next(&self) -> Promise {
        let events = Rc::clone(&self.0);
        promise(Box::pin(async move {
            match events.wait(Stream::poll_next).await.flatten() {
                Some(event) => Ok(event_to_json(event?).map_or(JsValue::UNDEFINED, JsValue::from)),
                None => Ok(JsValue::UNDEFINED),
            }
        }))
    }

    /// Says that the rest is not wanted.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

fn recording_failure(error: &RecordingError) -> Failure {
    match error {
        RecordingError::Shape { path, message, .. } => {
            let path = if path.starts_with("its ") { "" } else { path };
            wrong(join("recording", path), message)
        }
        _ => Failure::input("recording", error.to_string()),
    }
}
