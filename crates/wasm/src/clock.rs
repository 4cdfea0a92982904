//! Time, as JavaScript has it.

use std::time::Duration;

use futures::channel::oneshot;
use js_sys::Function;
use send_wrapper::SendWrapper;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;

    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, milliseconds: f64) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);
}

/// Time since some fixed moment.
pub(crate) fn now() -> Duration {
    Duration::try_from_secs_f64(performance_now() / 1000.0).unwrap_or_default()
}

/// Resolves after `time`.
pub(crate) async fn sleep(time: Duration) {
    // A timer of JavaScript counts in 31 bits; one that is asked for more rings at once.
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    let mut left = time;
    while !left.is_zero() {
        let next = left.min(LONGEST);
        let (timer, rings) = Timer::start(next);
        // The sender goes with the timer.
        let _ = rings.await;
        drop(timer);
        left -= next;
    }
}

/// A timer, which is taken back when it is dropped.
struct Timer {
    timer: SendWrapper<JsValue>,
    /// What the timer calls lives as long as the timer may ring.
    _callback: SendWrapper<Closure<dyn FnMut()>>,
}

impl Timer {
    fn start(time: Duration) -> (Self, oneshot::Receiver<()>) {
        let (send, rings) = oneshot::channel();
        let mut send = Some(send);
        let ring = move || {
            if let Some(send) = send.take() {
                // Nobody waits where the sleep was dropped.
                let _ = send.send(());
            }
        };
        let callback = Closure::<dyn FnMut()>::new(ring);
        let timer = set_timeout(callback.as_ref().unchecked_ref(), time.as_secs_f64() * 1000.0);
        (Self { timer: SendWrapper::new(timer), _callback: SendWrapper::new(callback) }, rings)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(&self.timer);
    }
}
