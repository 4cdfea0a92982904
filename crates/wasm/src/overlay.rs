use std::sync::Arc;

use headstart_overlay_fs::{ChangeSet, Overlay, Quota, Tree};
use js_sys::{Promise, Uint8Array};
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::{Failure, json};
use crate::input::parse;
use crate::paths::path;
use crate::promise::promise;
use crate::tree::{TreeHandle, link_text, list_json, metadata_json};

/// The fields of `Quota` that the caller sets.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct QuotaOptions {
    files: Option<u64>,
    bytes: Option<u64>,
    file_bytes: Option<u64>,
    depth: Option<u64>,
}

impl QuotaOptions {
    pub(crate) fn quota(&self) -> Quota {
        let usual = Quota::default();
        Quota {
            files: self.files.unwrap_or(usual.files),
            bytes: self.bytes.unwrap_or(usual.bytes),
            file_bytes: self.file_bytes.unwrap_or(usual.file_bytes),
            depth: self.depth.unwrap_or(usual.depth),
        }
    }
}

#[derive(Serialize)]
struct UsageFields {
    files: u64,
    bytes: u64,
}

/// Staged files. A promise that waits for the tree below keeps the overlay, so that JavaScript may free its handle.
#[wasm_bindgen]
pub struct OverlayHandle(Arc<Overlay>);

#[wasm_bindgen]
impl OverlayHandle {
    /// Makes an empty overlay; `quota` is the JSON text of its options.
    #[wasm_bindgen(constructor)]
    pub fn new(base: TreeHandle, quota: &str) -> Result<Self, Failure> {
        let quota: QuotaOptions = parse("quota", quota)?;
        Ok(Self::of(Arc::new(Overlay::new(base.tree(), quota.quota()))))
    }

    /// The merged view as a tree.
    pub fn tree(&self) -> TreeHandle {
        TreeHandle::readable(self.0.clone())
    }

    /// What is at a path, as a JSON text, or nothing.
    pub fn metadata(&self, text: &str) -> Result<Promise, Failure> {
        let (overlay, path) = (self.0.clone(), path(text)?);
        Ok(promise(Box::pin(async move {
            let found = metadata_json(overlay.metadata(&path).await, |_| None)?;
            Ok(found.map_or(JsValue::UNDEFINED, JsValue::from))
        })))
    }

    /// The content of a file, as bytes.
    pub fn read(&self, text: &str) -> Result<Promise, Failure> {
        let (overlay, path) = (self.0.clone(), path(text)?);
        Ok(promise(Box::pin(async move { Ok(Uint8Array::from(&*overlay.read(&path).await?).into()) })))
    }

    /// The entries of a folder, as a JSON text.
    pub fn list(&self, text: &str) -> Result<Promise, Failure> {
        let (overlay, path) = (self.0.clone(), path(text)?);
        Ok(promise(Box::pin(async move { Ok(list_json(overlay.list(&path).await?, &path)?.into()) })))
    }

    /// The target of a link, as a text.
    #[wasm_bindgen(js_name = readLink)]
    pub fn read_link(&self, text: &str) -> Result<Promise, Failure> {
        let (overlay, path) = (self.0.clone(), path(text)?);
        Ok(promise(Box::pin(async move { Ok(link_text(overlay.read_link(&path).await?, &path)?.into()) })))
    }

    /// Stages the content of a file. Without `executable` that bit stays as it was.
    pub fn write(&self, text: &str, content: Vec<u8>, executable: Option<bool>) -> Result<Promise, Failure> {
        let (overlay, path) = (self.0.clone(), path(text)?);
        Ok(promise(Box::pin(async move {
            overlay.write(&path, content).await?;
            if let Some(executable) = executable {
                overlay.set_executable(&path, executable).await?;
            }
            Ok(JsValue::UNDEFINED)
        })))
    }

    /// Stages a new folder.
    #[wasm_bindgen(js_name = createDir)]
    pub fn create_dir(&self, text: &str) -> Result<Promise, Failure> {
        let (overlay, path) = (self.0.clone(), path(text)?);
        Ok(promise(Box::pin(async move {
            overlay.create_dir(&path).await?;
            Ok(JsValue::UNDEFINED)
        })))
    }

    /// Stages a new link.
    pub fn symlink(&self, text: &str, target: String) -> Result<Promise, Failure> {
        let (overlay, path) = (self.0.clone(), path(text)?);
        Ok(promise(Box::pin(async move {
            overlay.symlink(&path, target.as_bytes()).await?;
            Ok(JsValue::UNDEFINED)
        })))
    }

    /// Stages the removal of a file, link or whole folder.
    pub fn remove(&self, text: &str) -> Result<Promise, Failure> {
        let (overlay, path) = (self.0.clone(), path(text)?);
        Ok(promise(Box::pin(async move {
            overlay.remove(&path).await?;
            Ok(JsValue::UNDEFINED)
        })))
    }

    /// Stages a move.
    pub fn rename(&self, from: &str, to: &str) -> Result<Promise, Failure> {
        let (overlay, from, to) = (self.0.clone(), path(from)?, path(to)?);
        Ok(promise(Box::pin(async move {
            overlay.rename(&from, &to).await?;
            Ok(JsValue::UNDEFINED)
        })))
    }

    /// The JSON text of the change set.
    #[wasm_bindgen(js_name = changeSet)]
    pub fn change_set(&self) -> String {
        json(&self.0.change_set())
    }

    /// The JSON text of what is staged here and in all overlays below, without what was read.
    #[wasm_bindgen(js_name = stagedChanges)]
    pub fn staged_changes(&self) -> String {
        let ChangeSet { changes, .. } = self.0.staged_changes();
        json(&ChangeSet { changes, reads: Vec::new() })
    }

    /// The files and bytes that are staged, as a JSON text.
    pub fn usage(&self) -> String {
        let usage = self.0.usage();
        json(&UsageFields { files: usage.files, bytes: usage.bytes })
    }

    /// Forgets everything that is staged.
    pub fn discard(&self) {
        self.0.discard();
    }
}

impl OverlayHandle {
    /// A handle of an overlay that is also held elsewhere.
    pub(crate) fn of(overlay: Arc<Overlay>) -> Self {
        Self(overlay)
    }
}
