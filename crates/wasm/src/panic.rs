use std::cell::RefCell;
use std::panic::PanicHookInfo;

use js_sys::Function;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    static LISTENER: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Calls `listener` with the words of a panic.
///
/// A panic is a mistake in this crate. Without this, JavaScript would see a trap without a message, and a promise that
/// is waited for would never settle.
#[wasm_bindgen(js_name = onPanic)]
pub fn on_panic(listener: Function) {
    LISTENER.set(Some(listener));
    std::panic::set_hook(Box::new(report_panic));
}

fn report_panic(info: &PanicHookInfo<'_>) {
    let listener = LISTENER.with(|listener| listener.try_borrow().ok()?.clone());
    if let Some(listener) = listener {
        // If the listener throws, that is lost: JavaScript gets the trap that follows.
        let _ = listener.call1(&JsValue::NULL, &info.to_string().into());
    }
}
