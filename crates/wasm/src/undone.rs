use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use headstart_overlay_fs::Workspace;
use headstart_speculation::{RestoredFile, UndoReport, UndoWatch};
use js_sys::Promise;
use serde::Serialize;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::{Failure, json};
use crate::promise::promise;
use crate::tree::TreeHandle;

/// How many looks are remembered, so that their news can be told.
const MAX_REPORTS: usize = 8;

/// A tree that recognizes its commits, so that it notices when their user undoes them.
#[wasm_bindgen]
pub struct WatchHandle {
    watch: Arc<UndoWatch>,
    /// What the last looks found, with their numbers, newest last.
    found: Rc<RefCell<Vec<(u32, UndoReport)>>>,
}

/// The news, as data and in words.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UndoFields<'a> {
    undone: &'a [RestoredFile],
    redone: &'a [RestoredFile],
    note: &'a str,
    for_user: &'a str,
    look: u32,
}

#[wasm_bindgen]
impl WatchHandle {
    /// Watches a tree that can be written.
    #[wasm_bindgen(constructor)]
    pub fn new(tree: TreeHandle) -> Result<Self, Failure> {
        Ok(Self { watch: Arc::new(UndoWatch::new(tree.workspace()?)), found: Rc::default() })
    }

    /// The same files as a tree.
    pub fn tree(&self) -> TreeHandle {
        TreeHandle::writable(Arc::<UndoWatch>::clone(&self.watch) as Arc<dyn Workspace>)
    }

    /// The news as JSON; nothing if there are none.
    pub fn news(&self) -> Promise {
        let (watch, found) = (Arc::clone(&self.watch), Rc::clone(&self.found));
        promise(Box::pin(async move {
            let news = watch.undo_report().await;
            if news.is_empty() {
                return Ok(JsValue::UNDEFINED);
            }
            let mut found = found.borrow_mut();
            let look = found.last().map_or(0, |(look, _)| look.wrapping_add(1));
            let UndoReport { undone, redone } = &news;
            let (note, for_user) = (&*news.note(), &*news.user_message());
            let told = json(&UndoFields { undone, redone, note, for_user, look });
            if found.len() == MAX_REPORTS {
                found.remove(0);
            }
            found.push((look, news));
            Ok(told.into())
        }))
    }

    /// Notes that what this look found is part of the conversation.
    pub fn told(&self, look: u32) {
        if let Some((_, news)) = self.found.borrow().iter().find(|(number, _)| *number == look) {
            self.watch.acknowledge(news);
        }
    }

    /// Forgets what was committed, because the conversation is over.
    #[wasm_bindgen(js_name = forgetAll)]
    pub fn forget_all(&self) {
        self.watch.forget_all();
    }
}
