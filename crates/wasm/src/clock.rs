//! Time in JavaScript. `npm/src/timers.ts` decides which timers keep a process alive.

use std::time::Duration;

use send_wrapper::SendWrapper;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::port::{Answers, AnswersPort};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;

    /// The timers of JavaScript.
    pub type ClockPort;

    /// One answer, which is empty, after this many milliseconds.
    #[wasm_bindgen(method)]
    fn sleep(this: &ClockPort, milliseconds: f64) -> AnswersPort;
}

/// Time since some fixed moment.
pub(crate) fn now() -> Duration {
    Duration::try_from_secs_f64(performance_now() / 1000.0).unwrap_or_default()
}

/// Makes [`ClockPort`] `Send`, as closures have to be. This is sound because there is one thread.
pub(crate) struct Clock(SendWrapper<ClockPort>);

impl Clock {
    pub(crate) fn new(port: ClockPort) -> Self {
        Self(SendWrapper::new(port))
    }

    pub(crate) fn sleep(&self, time: Duration) -> Answers {
        Answers::new(self.0.sleep(milliseconds(time)))
    }
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
