use std::cell::RefCell;
use std::panic::PanicHookInfo;

use js_sys::Function;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    static LISTENER: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Has `listener` told of a panic, in words.
///
/// A panic is a mistake in this crate. Without this JavaScript would see a trap that says nothing, and whoever waits for a
/// promise would wait for ever.
#[wasm_bindgen(js_name = onPanic)]
pub fn on_panic(listener: Function) {
    LISTENER.set(Some(listener));
    std::panic::set_hook(Box::new(tell));
}

fn tell(info: &PanicHookInfo<'_>) {
    let listener = LISTENER.with(|listener| listener.try_borrow().ok()?.clone());
    if let Some(listener) = listener {
        // What it throws is lost: the trap that follows is what JavaScript gets.
        let _ = listener.call1(&JsValue::NULL, &info.to_string().into());
    }
}
