//! What the module asks of JavaScript. `npm/src/host.ts` makes this of what the developer gave. Nothing there throws,
//! and every promise settles when its answer is not wanted any more.

use std::time::Duration;

use futures::future::BoxFuture;
use headstart_providers::Priority;
use js_sys::Promise;
use send_wrapper::SendWrapper;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::clock::milliseconds;
use crate::failure::Failure;
use crate::overlay::OverlayHandle;

#[wasm_bindgen]
extern "C" {
    /// The developer's callbacks.
    pub type HostPort;

    /// The approval mode of this moment.
    #[wasm_bindgen(method)]
    fn mode(this: &HostPort) -> String;

    /// Asks the model; `in_background` says that nobody waits for the work yet. The answers are the model's events.
    #[wasm_bindgen(method)]
    fn ask(this: &HostPort, request: &str, in_background: bool) -> AnswersPort;

    /// Asks the user: one answer, `run`, `decline` or `stop`.
    #[wasm_bindgen(method)]
    fn consent(this: &HostPort, call: &str, verdict: &str) -> AnswersPort;

    /// Runs a command. Each time that it has printed more, an answer has a `+` and the end of the output so far; the
    /// last answer is the result.
    #[wasm_bindgen(method)]
    fn command(this: &HostPort, request: &str) -> AnswersPort;

    /// How views are kept apart from the machine, if the developer's program can make any at this moment.
    #[wasm_bindgen(method, js_name = viewTier)]
    fn view_tier(this: &HostPort) -> Option<String>;

    /// Runs a command in a view, and stages what it changed in `changes`: one answer, the rest of its result.
    #[wasm_bindgen(method)]
    fn view(this: &HostPort, request: &str, changes: OverlayHandle) -> AnswersPort;

    /// Says that a view is not needed any more.
    #[wasm_bindgen(method, js_name = endView)]
    fn end_view(this: &HostPort, view: &str);

    /// Asks for the paths that changed on disk since a moment: one answer, a list in JSON.
    #[wasm_bindgen(method, js_name = changedSince)]
    fn changed_since(this: &HostPort, unix_ms: f64) -> AnswersPort;

    /// Looks at something on the machine, a `Probe`: one answer, a `Probed`.
    #[wasm_bindgen(method)]
    fn look(this: &HostPort, probe: &str) -> AnswersPort;

    /// Runs the developer's tool of this number: one answer.
    #[wasm_bindgen(method)]
    fn tool(this: &HostPort, number: usize, args: &str, view: OverlayHandle) -> AnswersPort;

    /// Tells about what a prompt mentions; `is_ahead` says that it is a prompt of work ahead. One answer.
    #[wasm_bindgen(method)]
    fn mention(this: &HostPort, what: &str, prompt: &str, is_ahead: bool) -> AnswersPort;

    /// Reports the project's rules that are sent along with a prompt, in JSON.
    #[wasm_bindgen(method, js_name = rulesTold)]
    fn rules_told(this: &HostPort, told: &str);

    /// One answer, which is empty, after this many milliseconds.
    #[wasm_bindgen(method)]
    fn sleep(this: &HostPort, milliseconds: f64) -> AnswersPort;

    /// Answers that come one after the other.
    pub type AnswersPort;

    /// The next text, or nothing if there are no more. It rejects with a [`Failure`] as JSON.
    #[wasm_bindgen(method)]
    fn next(this: &AnswersPort) -> Promise;

    /// Says that the rest is not wanted.
    #[wasm_bindgen(method)]
    fn cancel(this: &AnswersPort);
}

/// Makes the developer's callbacks `Send`, as ports have to be. This is sound because there is one thread.
pub(crate) struct Callbacks(SendWrapper<HostPort>);

impl Callbacks {
    pub(crate) fn new(port: HostPort) -> Self {
        Self(SendWrapper::new(port))
    }

    pub(crate) fn mode(&self) -> String {
        self.0.mode()
    }

    pub(crate) fn ask(&self, request: &str, priority: Priority) -> Answers {
        Answers::new(self.0.ask(request, priority == Priority::Background))
    }

    pub(crate) fn command(&self, request: &str) -> Answers {
        Answers::new(self.0.command(request))
    }

    pub(crate) fn view_tier(&self) -> Option<String> {
        self.0.view_tier()
    }

    pub(crate) fn view(&self, request: &str, changes: OverlayHandle) -> Answers {
        Answers::new(self.0.view(request, changes))
    }

    pub(crate) fn end_view(&self, view: &str) {
        self.0.end_view(view);
    }

    pub(crate) fn changed_since(&self, unix_ms: f64) -> Answers {
        Answers::new(self.0.changed_since(unix_ms))
    }

    pub(crate) fn look(&self, probe: &str) -> Answers {
        Answers::new(self.0.look(probe))
    }

    pub(crate) fn tool(&self, number: usize, args: &str, view: OverlayHandle) -> Answers {
        Answers::new(self.0.tool(number, args, view))
    }

    pub(crate) fn mention(&self, what: &str, prompt: &str, is_ahead: bool) -> Answers {
        Answers::new(self.0.mention(what, prompt, is_ahead))
    }

    pub(crate) fn rules_told(&self, told: &str) {
        self.0.rules_told(told);
    }

    pub(crate) fn consent(&self, call: &str, verdict: &str) -> Answers {
        Answers::new(self.0.consent(call, verdict))
    }

    pub(crate) fn sleep(&self, time: Duration) -> Answers {
        Answers::new(self.0.sleep(milliseconds(time)))
    }
}

/// The answers of a callback. Dropping them says that the rest is not wanted.
pub(crate) struct Answers {
    port: SendWrapper<AnswersPort>,
    ended: bool,
}

impl Answers {
    pub(crate) fn new(port: AnswersPort) -> Self {
        Self { port: SendWrapper::new(port), ended: false }
    }

    /// The next answer, or `None` if there are no more.
    pub(crate) fn next(&mut self) -> BoxFuture<'_, Result<Option<String>, Failure>> {
        let promise = self.port.next();
        Box::pin(SendWrapper::new(async move {
            let answer = promise.await.map_err(|thrown| failure(&thrown));
            let answer = answer.map(|answer| answer.as_string());
            self.ended = !matches!(answer, Ok(Some(_)));
            answer
        }))
    }

    /// The only answer.
    pub(crate) async fn single(mut self) -> Result<String, Failure> {
        self.next().await.map(Option::unwrap_or_default)
    }

    /// Waits for the answer of a timer, which is empty.
    pub(crate) async fn elapsed(mut self) {
        // A timer does not fail.
        let _ = self.next().await;
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        if !self.ended {
            self.port.cancel();
        }
    }
}

fn failure(thrown: &JsValue) -> Failure {
    let text = thrown.as_string().unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_else(|_| Failure::new("internal", text))
}
