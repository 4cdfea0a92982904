use std::fs;
use std::sync::mpsc;

use headstart_code_index::{Budget, Query, View, Weights, search};
use headstart_overlay_fs::{CommitOptions, CommitOutcome, Overlay, Quota};

use super::*;

/// Far longer than any step of these tests takes.
const LONG: Duration = Duration::from_secs(20);

struct TestIndex {
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

impl TestIndex {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("project/src")).unwrap();
        let bench = Self { runtime: tokio::runtime::Runtime::new().unwrap(), folder };
        bench.write("src/a.rs", "fn first() {}\n");
        bench.write("src/b.rs", "fn second() {}\n");
        bench
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project").canonicalize().unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.project().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn upkeep(&self) -> Arc<Upkeep> {
        self.upkeep_with(IndexModels::default())
    }

    fn upkeep_with(&self, models: IndexModels) -> Arc<Upkeep> {
        let project = self.project().to_str().unwrap().to_owned();
        let rules = GateContext { workspace: project.clone(), ..GateContext::default() };
        let state = self.folder.path().join("state");
        Arc::new(Upkeep::new(state, &project, rules, IndexConfig::default(), models).unwrap())
    }

    /// The answer of the index alone, without the files that are searched besides.
    fn found(&self, upkeep: &Upkeep, query: &str) -> Vec<String> {
        let (sender, receiver) = mpsc::channel();
        let query = query.to_owned();
        let work: IndexWork = Box::new(move |moment| {
            let view = View::new(moment.snapshot, []);
            let query = Query::parse(&query, |path| view.has(path));
            let hits = search(&view, &query, Budget::default(), moment.recent, &Weights::default()).unwrap();
            sender.send(hits.iter().map(|hit| hit.path.to_string()).collect()).unwrap();
        });
        self.runtime.block_on(upkeep.read(work));
        receiver.recv().unwrap()
    }

    /// Waits until the index alone gives this answer.
    fn until_found(&self, upkeep: &Upkeep, query: &str, expected: &[&str]) {
        let start = std::time::Instant::now();
        while self.found(upkeep, query) != expected {
            assert!(start.elapsed() < LONG, "{query}: {:?}", self.found(upkeep, query));
            // Waits for a change of the state, but not longer than a change takes to be written.
            upkeep.shared.wait_until_break(|state| match state.changed_at {
                Some(at) => std::ops::ControlFlow::Continue(at + Duration::from_millis(100)),
                None => std::ops::ControlFlow::Break(()),
            });
            std::thread::yield_now();
        }
    }
}

fn percent(upkeep: &Upkeep) -> Option<u64> {
    let index = upkeep.shared.change(|state| state.index.clone()).expect("an open index");
    upkeep.shared.coverage(&index.store.snapshot().unwrap()).percent
}

fn is_complete(upkeep: &Upkeep) -> bool {
    upkeep.shared.wait(LONG, |state| {
        !state.wants_comparison && state.progress.is_some_and(|progress| progress.percent() == 100)
    })
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

#[test]
fn nothing_is_made_before_it_begins() {
    let bench = TestIndex::new();
    let upkeep = bench.upkeep();
    assert!(!bench.folder.path().join("state").exists());
    upkeep.begin();
    assert!(is_complete(&upkeep));
    assert_eq!(bench.found(&upkeep, "first"), ["src/a.rs"]);
}

#[test]
fn what_another_program_changes_is_heard_of() {
    let bench = TestIndex::new();
    let upkeep = bench.upkeep();
    upkeep.begin();
    assert!(is_complete(&upkeep));
    assert!(upkeep.shared.change(|state| state.watched), "this system tells of no changes");
    bench.write("src/a.rs", "fn changed() {}\n");
    bench.until_found(&upkeep, "changed", &["src/a.rs"]);
    bench.until_found(&upkeep, "first", &[]);
    // The folder is new, and gets a file at once.
    bench.write("src/deep/er/c.rs", "fn third() {}\n");
    bench.until_found(&upkeep, "third", &["src/deep/er/c.rs"]);
    bench.write("src/deep/er/d.rs", "fn fourth() {}\n");
    bench.until_found(&upkeep, "fourth", &["src/deep/er/d.rs"]);
    fs::rename(bench.project().join("src/deep"), bench.project().join("moved")).unwrap();
    bench.until_found(&upkeep, "third", &["moved/er/c.rs"]);
    bench.write(".gitignore", "moved/\n");
    bench.until_found(&upkeep, "third", &[]);
    fs::remove_file(bench.project().join("src/b.rs")).unwrap();
    bench.until_found(&upkeep, "second", &[]);
}

#[test]
fn what_is_committed_is_known_to_the_next_query() {
    let bench = TestIndex::new();
    let upkeep = bench.upkeep();
    upkeep.begin();
    assert!(is_complete(&upkeep));
    let tree: Arc<dyn Workspace> = Arc::new(OsTree::open(bench.project()).unwrap());
    let followed = upkeep.follow(Arc::clone(&tree));
    bench.runtime.block_on(async {
        let overlay = Overlay::new(Arc::clone(&tree) as Arc<dyn Tree>, Quota::default());
        overlay.write(&path("src/new.rs"), b"fn brand_new() {}\n".to_vec()).await.unwrap();
        overlay.remove(&path("src/b.rs")).await.unwrap();
        let done = followed.commit(&overlay.change_set(), CommitOptions::default()).await.unwrap();
        assert!(matches!(done, CommitOutcome::Committed(_)));
    });
    // The file is in the index already, or among those that are searched besides.
    let changed = bench.runtime.block_on(upkeep.changed());
    let found = bench.found(&upkeep, "brand_new");
    assert!(changed.contains(&path("src/new.rs")) || found == ["src/new.rs"], "{changed:?} {found:?}");
    bench.until_found(&upkeep, "brand_new", &["src/new.rs"]);
    bench.until_found(&upkeep, "second", &[]);
}

/// What a chat is told in its first moment of an index that was complete before: it waits for the walk that says so
/// again, and if that takes long, it gets places and no number.
#[test]
fn an_index_that_is_complete_never_says_that_it_is_not() {
    let bench = TestIndex::new();
    let before = bench.upkeep();
    assert_eq!(before.shared.coverage(&MemoryIndex::new()).percent, None);
    before.begin();
    assert!(is_complete(&before));
    drop(before);

    let upkeep = bench.upkeep();
    upkeep.shared.change(|state| state.is_held = true);
    bench.runtime.block_on(upkeep.changed());
    assert!(upkeep.shared.wait(LONG, |state| state.index.is_some() && !state.wants_comparison));
    assert_eq!(bench.found(&upkeep, "first"), ["src/a.rs"]);
    assert_eq!(percent(&upkeep), None);
    // The next query does not wait for what the last one waited for in vain; any other does.
    assert!(
        upkeep
            .shared
            .change(|state| { std::mem::take(&mut state.waited_in_vain) && state.is_worth_a_wait() })
    );
    upkeep.shared.change(|state| state.is_held = false);
    assert!(is_complete(&upkeep));
    assert!(upkeep.shared.wait(LONG, |state| state.compared_at.is_some() && !state.is_worth_a_wait()));
    assert_eq!(percent(&upkeep), Some(100));
}

#[test]
fn of_two_processes_one_keeps_the_index_and_both_know_what_changes() {
    let bench = TestIndex::new();
    let (one, other) = (bench.upkeep(), bench.upkeep());
    one.begin();
    assert!(is_complete(&one));
    other.begin();
    other.shared.wait(LONG, |state| state.index.is_some());
    assert_eq!(bench.found(&other, "first"), ["src/a.rs"]);
    let heard = other.shared.wait(LONG, |state| state.progress.is_some() && state.compared_at.is_some());
    assert!(heard && other.shared.change(|state| !state.watched));
    bench.write("src/a.rs", "fn changed() {}\n");
    bench.until_found(&other, "changed", &["src/a.rs"]);
    // The other process continues when the first one ends.
    drop(one);
    assert!(other.shared.wait(LONG, |state| state.watched));
    bench.write("src/b.rs", "fn again() {}\n");
    bench.until_found(&other, "again", &["src/b.rs"]);
}

/// Says whether a text is about the first or the second; withholds its answers as long as it is told to.
struct Embedding {
    held: Arc<std::sync::atomic::AtomicBool>,
    texts: std::sync::Mutex<Vec<String>>,
}

#[async_trait]
impl headstart_code_index::Embedder for Embedding {
    fn id(&self) -> &'static str {
        "test"
    }

    fn dimensions(&self) -> Option<usize> {
        Some(2)
    }

    fn location(&self) -> ModelLocation {
        ModelLocation::Local
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, headstart_code_index::ModelFailure> {
        while self.held.load(std::sync::atomic::Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.texts.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
        let is = |text: &str, word: &str| f32::from(u8::from(text.contains(word)));
        Ok(texts.iter().map(|text| vec![is(text, "first"), is(text, "second")]).collect())
    }
}

fn vectors(upkeep: &Upkeep) -> Option<(u64, u64)> {
    let index = upkeep.shared.change(|state| state.index.clone())?;
    let status = index.store.vector_status("test").unwrap();
    Some((status.current, status.all))
}

fn until_vectors(upkeep: &Upkeep, expected: (u64, u64)) {
    let start = std::time::Instant::now();
    while vectors(upkeep) != Some(expected) {
        assert!(start.elapsed() < LONG, "{:?}", vectors(upkeep));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn vectors_are_made_beside_and_nobody_waits_for_them() {
    let bench = TestIndex::new();
    let held = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let embedding = Arc::new(Embedding { held: Arc::clone(&held), texts: std::sync::Mutex::default() });
    let upkeep = bench.upkeep_with(IndexModels::of(Arc::clone(&embedding) as _));
    upkeep.begin();
    assert!(is_complete(&upkeep));
    // The model does not answer. The index is updated and answers, and a query continues without a vector after a
    // moment.
    bench.write("src/c.rs", "fn third() {}\n");
    bench.until_found(&upkeep, "third", &["src/c.rs"]);
    assert_eq!(vectors(&upkeep), Some((0, 3)));
    assert_eq!(bench.runtime.block_on(upkeep.embed_query("the first", ModelLocation::Local)), None);
    assert!(upkeep.notices().iter().any(|notice| notice.contains("no answer within 1.5 s")));
    // For some time the model is not asked again.
    assert_eq!(upkeep.available_models(ModelLocation::Remote), AvailableModels::default());
    held.store(false, std::sync::atomic::Ordering::SeqCst);
    until_vectors(&upkeep, (3, 3));
    // Only what has changed is made again.
    embedding.texts.lock().unwrap().clear();
    bench.write("src/a.rs", "fn altered() {}\n");
    bench.until_found(&upkeep, "altered", &["src/a.rs"]);
    until_vectors(&upkeep, (3, 3));
    assert_eq!(*embedding.texts.lock().unwrap(), ["src/a.rs\nfn altered() {}"]);
    // The end does not wait for a request in progress.
    held.store(true, std::sync::atomic::Ordering::SeqCst);
    bench.write("src/d.rs", "fn fourth() {}\n");
    bench.until_found(&upkeep, "fourth", &["src/d.rs"]);
    let start = std::time::Instant::now();
    drop(upkeep);
    assert!(start.elapsed() < LONG / 4);
}
