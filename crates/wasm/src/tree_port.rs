use async_trait::async_trait;
use futures::future::BoxFuture;
use headstart_overlay_fs::{
    AtomicWriter, ChangeSet, CommitOptions, CommitOutcome, DirEntry, Entry, EntryKind, Fingerprint, Metadata,
    Step, Tree, TreeError, Workspace, WorkspacePath, Writer, commit_atomically, commit_through,
};
use js_sys::{Promise, Uint8Array};
use send_wrapper::SendWrapper;
use serde::Deserialize;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

use crate::paths::unnamed;

#[wasm_bindgen]
extern "C" {
    /// What `npm/src/tree-port.ts` makes of the host's tree: one method for all of its callbacks. That code has checked
    /// the types of their answers, and knows which error is which.
    pub type TreePort;

    /// The answer: bytes for `read`, otherwise a JSON text. It rejects with a JSON text `{"code", "message"}`.
    #[wasm_bindgen(method)]
    fn ask(this: &TreePort, callback: &str, path: &str, content: JsValue, executable: bool) -> Promise;

    /// Whether the host takes a commit as a whole.
    #[wasm_bindgen(method, getter, js_name = isAtomic)]
    fn is_atomic(this: &TreePort) -> bool;

    /// An empty commit.
    #[wasm_bindgen(method)]
    fn batch(this: &TreePort) -> Batch;

    type Batch;

    /// Adds one path, with what is there before and after: the kind (empty for nothing), and the bytes or the target of
    /// a link.
    #[wasm_bindgen(method)]
    fn add(
        this: &Batch,
        path: &str,
        kind_before: &str,
        before: JsValue,
        kind_after: &str,
        after: JsValue,
        executable: bool,
        moved_from: &str,
    );

    /// Commits, together with what is `beside` the files. The answer is the JSON text of a list of paths that are not as
    /// they have to be. It rejects as `ask` does.
    #[wasm_bindgen(method)]
    fn commit(this: &Batch, beside: Option<&str>) -> Promise;

    /// A place in the queue of commits to the host's tree.
    #[wasm_bindgen(method)]
    fn turn(this: &TreePort) -> Turn;

    type Turn;

    #[wasm_bindgen(method)]
    fn ready(this: &Turn) -> Promise;

    #[wasm_bindgen(method)]
    fn release(this: &Turn);
}

/// The host's tree.
pub(crate) struct PortTree {
    port: SendWrapper<TreePort>,
}

/// What a callback of the host answered.
enum PortAnswer {
    Bytes(Vec<u8>),
    Text(String),
}

#[derive(Deserialize)]
struct PortMetadata {
    kind: EntryKind,
    size: u64,
    executable: bool,
    modified: Option<f64>,
}

#[derive(Deserialize)]
struct PortError {
    code: String,
    message: String,
    /// The path of a commit to which the error belongs.
    path: Option<String>,
}

impl PortTree {
    pub(crate) fn new(port: TreePort) -> Self {
        Self { port: SendWrapper::new(port) }
    }

    fn ask(
        &self,
        callback: &'static str,
        path: &WorkspacePath,
    ) -> BoxFuture<'static, Result<PortAnswer, TreeError>> {
        self.ask_with(callback, path, JsValue::UNDEFINED, false)
    }

    fn ask_with(
        &self,
        callback: &'static str,
        path: &WorkspacePath,
        content: JsValue,
        executable: bool,
    ) -> BoxFuture<'static, Result<PortAnswer, TreeError>> {
        let promise = path.as_str().map(|path| self.port.ask(callback, path, content, executable));
        let path = path.clone();
        Box::pin(SendWrapper::new(async move {
            let promise = promise.ok_or_else(|| unnamed(&path))?;
            match promise.await {
                Ok(answer) => match answer.dyn_into::<Uint8Array>() {
                    Ok(bytes) => Ok(PortAnswer::Bytes(bytes.to_vec())),
                    Err(other) => Ok(PortAnswer::Text(other.as_string().unwrap_or_default())),
                },
                Err(rejected) => Err(port_error(&path, &rejected)),
            }
        }))
    }
}

/// The value of a JSON text of the port.
fn parse<'a, T: Deserialize<'a>>(path: &WorkspacePath, answer: &'a PortAnswer) -> Result<T, TreeError> {
    let text = if let PortAnswer::Text(text) = answer { text } else { "" };
    serde_json::from_str(text).map_err(|error| io(path, error.to_string()))
}

fn io(path: &WorkspacePath, message: String) -> TreeError {
    TreeError::failed(path.clone(), message)
}

fn port_error(path: &WorkspacePath, rejected: &JsValue) -> TreeError {
    let text = rejected.as_string().unwrap_or_default();
    let Ok(PortError { code, message, path: named }) = serde_json::from_str(&text) else {
        return io(path, "the tree failed".to_owned());
    };
    let path = named.and_then(|named| WorkspacePath::parse(&named).ok()).unwrap_or_else(|| path.clone());
    match code.as_str() {
        "not_found" => TreeError::NotFound { path },
        "not_a_directory" => TreeError::NotADirectory { path },
        "is_a_directory" => TreeError::IsADirectory { path },
        "already_exists" => TreeError::AlreadyExists { path },
        "escapes" => TreeError::Escapes { path },
        "unsupported" => TreeError::Unsupported { path, reason: message },
        _ => TreeError::failed(path, message),
    }
}

impl PortMetadata {
    fn metadata(&self) -> Metadata {
        let &Self { kind, size, executable, modified } = self;
        let len = if kind == EntryKind::Directory { 0 } else { size };
        let mode = if executable || kind == EntryKind::Directory { 0o755 } else { 0o644 };
        let fingerprint = Fingerprint {
            kind,
            device: 0,
            inode: 0,
            len,
            mode,
            #[expect(clippy::cast_possible_truncation, reason = "what it loses is in the other field")]
            modified_ns: modified.map_or(0, |ms| (ms * 1e6) as i64),
            // This need not be a time: all that matters is that different numbers have different bits.
            changed_ns: modified.map_or(0, |number| number.to_bits().cast_signed()),
            racy: modified.is_none(),
        };
        Metadata { kind, len, executable, links: 1, fingerprint }
    }
}

#[async_trait]
impl Tree for PortTree {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        let answer = self.ask("metadata", path).await?;
        let looked: Option<PortMetadata> = parse(path, &answer)?;
        Ok(looked.ok_or_else(|| TreeError::NotFound { path: path.clone() })?.metadata())
    }

    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        match self.ask("read", path).await? {
            PortAnswer::Bytes(bytes) => Ok(bytes),
            PortAnswer::Text(_) => Err(io(path, "read gave no bytes".to_owned())),
        }
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        let answer = self.ask("list", path).await?;
        let mut entries = Vec::new();
        for (name, kind) in parse::<Vec<(String, EntryKind)>>(path, &answer)? {
            if matches!(name.as_str(), "" | "." | "..") || name.contains(['/', '\0']) {
                let rule = "a name is not empty, not \".\" or \"..\", and holds no \"/\" and no NUL";
                return Err(io(path, format!("list gave the name {name:?}; {rule}")));
            }
            entries.push(DirEntry { name: name.into_bytes(), kind });
        }
        entries.sort();
        if let Some(twice) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
            let name = String::from_utf8_lossy(&twice[0].name).into_owned();
            return Err(io(path, format!("list gave the name {name:?} twice")));
        }
        Ok(entries)
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        let answer = self.ask("readLink", path).await?;
        Ok(parse::<String>(path, &answer)?.into_bytes())
    }
}

#[async_trait]
impl Writer for PortTree {
    async fn write(&self, path: &WorkspacePath, content: &[u8], executable: bool) -> Result<(), TreeError> {
        // The content is copied, because the host must not keep a view of this module's memory.
        let answer = self.ask_with("write", path, Uint8Array::from(content).into(), executable);
        answer.await.map(|_| ())
    }

    async fn symlink(&self, path: &WorkspacePath, target: &[u8]) -> Result<(), TreeError> {
        let target = std::str::from_utf8(target).map_err(|_| unnamed(path))?;
        let answer = self.ask_with("symlink", path, target.into(), false);
        answer.await.map(|_| ())
    }

    async fn create_dir(&self, path: &WorkspacePath) -> Result<(), TreeError> {
        self.ask("createDir", path).await.map(|_| ())
    }

    async fn remove(&self, path: &WorkspacePath) -> Result<(), TreeError> {
        self.ask("remove", path).await.map(|_| ())
    }
}

#[async_trait]
impl AtomicWriter for PortTree {
    async fn make(&self, steps: Vec<Step>, beside: Option<&str>) -> Result<Vec<WorkspacePath>, TreeError> {
        let batch = SendWrapper::new(self.port.batch());
        for Step { path, before, after, moved_from } in steps {
            let (kind_before, before, _) = entry_to_js(&path, before)?;
            let (kind_after, after, executable) = entry_to_js(&path, after)?;
            let text = path.as_str().ok_or_else(|| unnamed(&path))?;
            let moved_from = moved_from.as_ref().and_then(WorkspacePath::as_str).unwrap_or_default();
            batch.add(text, kind_before, before.take(), kind_after, after.take(), executable, moved_from);
        }
        let root = WorkspacePath::root();
        let promise = batch.commit(beside);
        match SendWrapper::new(async move { promise.await }).await {
            Ok(answer) => parse(&root, &PortAnswer::Text(answer.as_string().unwrap_or_default())),
            Err(rejected) => Err(port_error(&root, &rejected)),
        }
    }
}

/// The kind of an entry as JavaScript names it, its content, and its executable bit.
fn entry_to_js(
    path: &WorkspacePath,
    entry: Option<Entry>,
) -> Result<(&'static str, SendWrapper<JsValue>, bool), TreeError> {
    let (kind, value, executable) = match entry {
        None => ("", JsValue::UNDEFINED, false),
        Some(Entry::Directory) => ("directory", JsValue::UNDEFINED, false),
        Some(Entry::Link(target)) => {
            ("symlink", String::from_utf8(target).map_err(|_| unnamed(path))?.into(), false)
        }
        // The content is copied, because the host must not keep a view of this module's memory.
        Some(Entry::File { content, executable }) => ("file", Uint8Array::from(&*content).into(), executable),
    };
    Ok((kind, SendWrapper::new(value), executable))
}

/// A place in the queue, which is given up when this is dropped.
struct QueueSlot(SendWrapper<Turn>);

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.0.release();
    }
}

#[async_trait]
impl Workspace for PortTree {
    async fn commit(&self, changes: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        self.commit_both(changes, None, options).await
    }

    async fn commit_with(
        &self,
        changes: &ChangeSet,
        beside: &str,
        options: CommitOptions,
    ) -> Result<CommitOutcome, TreeError> {
        self.commit_both(changes, Some(beside), options).await
    }
}

impl PortTree {
    async fn commit_both(
        &self,
        changes: &ChangeSet,
        beside: Option<&str>,
        options: CommitOptions,
    ) -> Result<CommitOutcome, TreeError> {
        let slot = QueueSlot(SendWrapper::new(self.port.turn()));
        let ready = SendWrapper::new(js_sys::futures::JsFuture::from(slot.0.ready()));
        // This promise never rejects.
        let _ = SendWrapper::new(async move { ready.take().await.is_ok() }).await;
        match beside {
            _ if self.port.is_atomic() => commit_atomically(self, changes, beside, options).await,
            None => commit_through(self, changes, options).await,
            Some(_) => {
                let reason = "a tree without `commitAll` commits files alone".to_owned();
                Err(TreeError::Unsupported { path: WorkspacePath::root(), reason })
            }
        }
    }
}
