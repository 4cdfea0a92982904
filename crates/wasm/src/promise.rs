use std::pin::Pin;

use js_sys::Promise;
use wasm_bindgen::JsValue;

use crate::failure::Failure;

/// Work for whose end JavaScript waits. It is boxed so that the code of a promise is in the module only once.
pub(crate) type PromiseWork = Pin<Box<dyn Future<Output = Result<JsValue, Failure>>>>;

/// Begins the work at once; a failure rejects with its JSON text.
pub(crate) fn promise(work: PromiseWork) -> Promise {
    js_sys::futures::future_to_promise(async move { work.await.map_err(JsValue::from) })
}
