use std::sync::Arc;

use headstart_overlay_fs::Workspace;
use headstart_speculation::{News, UndoWatch};
use js_sys::Promise;
use serde::Serialize;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::{Failure, json};
use crate::input::parse;
use crate::promise::promise;
use crate::tree::TreeHandle;

/// A tree whose commits are known again when their user undoes them.
#[wasm_bindgen]
pub struct WatchHandle(Arc<UndoWatch>);

/// News, and what they are in words.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    #[serde(flatten)]
    news: News,
    note: String,
    for_user: String,
}

#[wasm_bindgen]
impl WatchHandle {
    /// Over a tree that can be written.
    #[wasm_bindgen(constructor)]
    pub fn new(tree: TreeHandle) -> Result<Self, Failure> {
        Ok(Self(Arc::new(UndoWatch::new(tree.workspace()?))))
    }

    /// The same files, for whoever takes a tree.
    pub fn tree(&self) -> TreeHandle {
        TreeHandle::writable(Arc::<UndoWatch>::clone(&self.0) as Arc<dyn Workspace>)
    }

    /// The news as JSON; nothing where there are none.
    pub fn news(&self) -> Promise {
        let watch = Arc::clone(&self.0);
        promise(Box::pin(async move {
            let news = watch.news().await;
            if news.is_empty() {
                return Ok(JsValue::UNDEFINED);
            }
            let (note, for_user) = (news.note(), news.for_user());
            Ok(json(&Told { news, note, for_user }).into())
        }))
    }

    /// These news are part of the conversation.
    pub fn told(&self, news: &str) -> Result<(), Failure> {
        self.0.told(&parse::<News>("news", news)?);
        Ok(())
    }

    /// The conversation is over.
    #[wasm_bindgen(js_name = forgetAll)]
    pub fn forget_all(&self) {
        self.0.forget_all();
    }
}
