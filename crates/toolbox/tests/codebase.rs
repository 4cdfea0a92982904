//! The tools `codebase` and `repo_map`: what a call sees if another part of the program maintains the index.

#![expect(clippy::unwrap_used, reason = "what a helper cannot do stops the test")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::executor::block_on;
use headstart_code_index::{
    Catalogue, ChunkPosting, ContentFields, Field, FilePosting, IndexError, MemoryIndex, ModelLocation,
    Snapshot, Symbol, project_files,
};
use headstart_forked_query::ToolCall;
use headstart_overlay_fs::{MemoryTree, Overlay, Quota, Tree, WorkspacePath};
use headstart_tool_gate::{DenyRules, GateContext};
use headstart_toolbox::{
    AvailableModels, ContextItem, IndexCoverage, IndexState, IndexWork, ItemUri, ProjectIndex, ToolContext,
    ToolError, ToolLimits, Toolbox, codebase_tools,
};
use serde_json::{Value, json};

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).expect("a path inside the workspace")
}

/// An index in memory that is only updated when a test says so.
struct TestIndex {
    files: Arc<MemoryTree>,
    index: Mutex<MemoryIndex>,
    generation: Mutex<u64>,
    changed: Mutex<BTreeSet<WorkspacePath>>,
    coverage: Mutex<IndexCoverage>,
    /// How many terms were looked up.
    asked: AtomicUsize,
    /// The passages that a judge was given, and the order in which it puts them.
    judged: Mutex<Vec<String>>,
    order: Mutex<Option<Vec<usize>>>,
}

/// A snapshot that counts the terms that are looked up.
struct CountingSnapshot<'a>(&'a MemoryIndex, &'a AtomicUsize);

impl Snapshot for CountingSnapshot<'_> {
    fn catalogue(&self) -> &Catalogue {
        self.0.catalogue()
    }

    fn chunk_postings(&self, term: &str, visit: &mut dyn FnMut(ChunkPosting)) -> Result<(), IndexError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.chunk_postings(term, visit)
    }

    fn file_postings(&self, term: &str, visit: &mut dyn FnMut(FilePosting)) -> Result<(), IndexError> {
        self.0.file_postings(term, visit)
    }

    fn definitions(&self, whole: &str, visit: &mut dyn FnMut(u32, Symbol)) -> Result<(), IndexError> {
        self.0.definitions(whole, visit)
    }

    fn symbols(&self, content: u32) -> Result<Vec<Symbol>, IndexError> {
        self.0.symbols(content)
    }

    fn history(&self, path: &WorkspacePath) -> Result<Field, IndexError> {
        self.0.history(path)
    }
}

impl TestIndex {
    fn new(files: &[(&str, &str)]) -> Arc<Self> {
        let files = MemoryTree::from_files(files.iter().copied()).expect("paths inside the workspace");
        let kept = Self {
            files: Arc::new(files),
            index: Mutex::default(),
            generation: Mutex::default(),
            changed: Mutex::default(),
            coverage: Mutex::new(IndexCoverage { percent: Some(100), trouble: None }),
            asked: AtomicUsize::new(0),
            judged: Mutex::default(),
            order: Mutex::default(),
        };
        kept.follow(|_| true);
        Arc::new(kept)
    }

    /// Rebuilds the index from the files that `takes` selects.
    fn follow(&self, takes: impl Fn(&WorkspacePath) -> bool) {
        let mut index = MemoryIndex::new();
        for (path, _) in block_on(project_files(self.files.as_ref(), &|_| false)).unwrap().files {
            let bytes = block_on(self.files.read(&path)).unwrap();
            if takes(&path) {
                index.put(path.clone(), Arc::new(ContentFields::of(&path, &bytes)));
            }
        }
        *self.index.lock().unwrap() = index;
        *self.generation.lock().unwrap() += 1;
    }

    fn is_at(&self, percent: impl Into<Option<u64>>, trouble: Option<&str>) {
        let percent = percent.into();
        *self.coverage.lock().unwrap() = IndexCoverage { percent, trouble: trouble.map(str::to_owned) };
    }
}

#[async_trait]
impl ProjectIndex for TestIndex {
    fn files(&self) -> Arc<dyn Tree> {
        Arc::clone(&self.files) as Arc<dyn Tree>
    }

    async fn changed(&self) -> BTreeSet<WorkspacePath> {
        self.changed.lock().unwrap().clone()
    }

    fn available_models(&self, permitted: ModelLocation) -> AvailableModels {
        AvailableModels {
            ranks: permitted == ModelLocation::Remote && self.order.lock().unwrap().is_some(),
            ..AvailableModels::default()
        }
    }

    async fn rank_passages(
        &self,
        _query: &str,
        passages: &[&str],
        permitted: ModelLocation,
    ) -> Option<Vec<usize>> {
        assert_eq!(permitted, ModelLocation::Remote);
        self.judged.lock().unwrap().extend(passages.iter().map(|passage| (*passage).to_owned()));
        self.order.lock().unwrap().clone()
    }

    async fn read(&self, work: IndexWork) {
        let (index, coverage) = (self.index.lock().unwrap(), self.coverage.lock().unwrap());
        let generation = *self.generation.lock().unwrap();
        let snapshot = &CountingSnapshot(&index, &self.asked);
        work(&IndexState { snapshot, recent: &[], generation, coverage: &coverage });
    }
}

/// An agent over a workspace with an index.
struct Bench {
    kept: Arc<TestIndex>,
    view: Arc<Overlay>,
    gate: GateContext,
    limits: ToolLimits,
    toolbox: Toolbox,
    consented: bool,
    attended: bool,
    /// The items of the last answer.
    items: Mutex<Vec<ContextItem>>,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let kept = TestIndex::new(files);
        let view = Arc::new(Overlay::new(kept.files(), Quota::default()));
        let tools = codebase_tools(Arc::clone(&kept) as Arc<dyn ProjectIndex>);
        Self {
            kept,
            view,
            gate: GateContext { workspace: "/home/ada/project".to_owned(), ..GateContext::default() },
            limits: ToolLimits::default(),
            toolbox: tools.into_iter().fold(Toolbox::standard(None), Toolbox::with),
            consented: false,
            attended: false,
            items: Mutex::default(),
        }
    }

    fn call(&self, name: &str, args: Value) -> Result<String, ToolError> {
        let Value::Object(args) = args else { panic!("arguments are an object") };
        let context = ToolContext {
            view: &self.view,
            gate: &self.gate,
            limits: &self.limits,
            hardened: None,
            consented: self.consented,
            attended: self.attended,
        };
        let call = ToolCall { id: "1".to_owned(), name: name.to_owned(), args };
        let (text, items) = block_on(self.toolbox.run(&call, context))?.into_parts();
        *self.items.lock().unwrap() = items;
        Ok(text)
    }

    fn codebase(&self, query: &str) -> String {
        self.call("codebase", json!({"query": query})).expect("an answer")
    }

    fn write(&self, name: &str, text: &str) {
        block_on(self.view.write(&path(name), text.as_bytes().to_vec())).expect("room for it");
    }

    /// The paths of the files whose content the work depends on.
    fn read_files(&self) -> Vec<String> {
        let reads = self.view.change_set().reads;
        reads.iter().filter(|read| read.content.is_some()).map(|read| read.path.to_string()).collect()
    }
}

const AUTH: &str = "/// Checks a password.\nfn check_login() {}\n";
/// The same, as a model gets it.
const SHOWN: &str = "1: /// Checks a password.\n2: fn check_login() {}";

#[test]
fn a_place_comes_with_its_lines_and_is_read_as_any_file_is() {
    let bench = Bench::new(&[("src/auth.rs", AUTH), ("src/cart.rs", "fn total() {}\n")]);
    assert_eq!(bench.codebase("check_login"), format!("src/auth.rs:2-2 check_login\n{SHOWN}"));
    assert_eq!(bench.read_files(), ["src/auth.rs"]);
    let items = std::mem::take(&mut *bench.items.lock().unwrap());
    let uri = Some(ItemUri::File { path: path("src/auth.rs"), lines: Some((2, 2)) });
    assert_eq!((items.len(), &*items[0].name, &items[0].uri), (1, "auth.rs (2)", &uri));
    assert!(bench.codebase("nowhere_at_all").starts_with("[nothing fits"));
    let below = bench.call("codebase", json!({"query": "check_login", "path": "src/cart.rs"})).unwrap();
    assert!(below.starts_with("[nothing fits"), "{below}");
}

#[test]
fn what_lower_steps_staged_is_found_and_what_they_removed_is_not() {
    let mut bench = Bench::new(&[("a.rs", "fn one() {}\n"), ("b.rs", "fn two() {}\n")]);
    bench.write("c.rs", "fn three() {}\n");
    block_on(bench.view.remove(&path("a.rs"))).unwrap();
    bench.view = Arc::new(Overlay::new(Arc::clone(&bench.view) as Arc<dyn Tree>, Quota::default()));
    block_on(bench.view.rename(&path("b.rs"), &path("moved.rs"))).unwrap();
    bench.write("c.rs", "fn four() {}\n");
    assert!(bench.codebase("one").starts_with("[nothing fits"));
    assert!(bench.codebase("two").starts_with("moved.rs:1-1 two"));
    assert!(bench.codebase("three").starts_with("[nothing fits"));
    assert!(bench.codebase("four").starts_with("c.rs:1-1 four"));
    let map = bench.call("repo_map", json!({})).unwrap();
    assert_eq!(map, "c.rs\n 1: function four\nmoved.rs\n 1: function two");
}

#[test]
fn a_file_that_changed_is_shown_as_it_is_or_not_at_all() {
    let bench = Bench::new(&[("a.rs", AUTH), ("b.rs", AUTH), ("c.rs", AUTH)]);
    // The index has not been told of these changes.
    bench.kept.files.write(&path("a.rs"), format!("fn first() {{}}\n\n{AUTH}"));
    bench.kept.files.write(&path("b.rs"), "fn other() {}\n");
    bench.kept.files.remove(&path("c.rs"));
    let found = bench.codebase("check_login");
    assert!(found.starts_with("a.rs:4-4 check_login\n3: ///"), "{found}");
    assert!(!found.contains("b.rs") && !found.contains("c.rs"), "{found}");
    // The index has been told of this change.
    bench.kept.files.write(&path("new.rs"), "fn brand_new() {}\n");
    bench.kept.changed.lock().unwrap().insert(path("new.rs"));
    assert!(bench.codebase("brand_new").starts_with("new.rs:1-1 brand_new"));
}

#[test]
fn what_a_rule_closes_is_never_named() {
    let mut bench = Bench::new(&[("private/a.rs", AUTH), (".env", "check_login=1\n"), ("b.rs", AUTH)]);
    bench.gate.deny = DenyRules::from_patterns(["private/**"]).unwrap();
    bench.write("private/new.rs", AUTH);
    bench.kept.is_at(0, None);
    for found in [bench.codebase("check_login"), bench.call("repo_map", json!({})).unwrap()] {
        assert!(found.contains("b.rs") && !found.contains("private") && !found.contains(".env"), "{found}");
    }
    assert_eq!(bench.read_files(), ["b.rs"]);
    let refused = bench.call("codebase", json!({"query": "x", "path": "private/a.rs"})).unwrap_err();
    assert!(refused.to_string().contains("closed by a deny rule"), "{refused}");
    // This is another name of a closed file.
    bench
        .kept
        .index
        .lock()
        .unwrap()
        .put(path("link/a.rs"), Arc::new(ContentFields::of(&path("a.rs"), AUTH.as_bytes())));
    *bench.kept.generation.lock().unwrap() += 1;
    bench.kept.files.link(&path("link"), "private");
    assert!(!bench.codebase("check_login").contains("link"));
}

#[test]
fn a_staged_ignore_rule_takes_files_out_and_brings_them_back() {
    let bench =
        Bench::new(&[(".gitignore", "b.rs\n"), ("a.rs", "fn needle() {}\n"), ("b.rs", "fn needle() {}\n")]);
    assert!(!bench.codebase("needle").contains("b.rs"));
    bench.write(".gitignore", "a.rs\n");
    let found = bench.codebase("needle");
    assert!(found.starts_with("b.rs:1-1 needle") && !found.contains("a.rs:"), "{found}");
}

#[test]
fn what_is_not_indexed_yet_is_searched_for() {
    let bench =
        Bench::new(&[("a.rs", AUTH), ("b.rs", "fn x() {\n    check_login();\n}\n"), ("c.rs", "fn y() {}\n")]);
    bench.kept.follow(|path| path.to_string() == "a.rs");
    bench.kept.is_at(33, None);
    let found = bench.codebase("where is check_login defined?");
    let expected = format!(
        "a.rs:2-2 check_login\n{SHOWN}\nb.rs:2:    check_login();\n[indexed 33 % of the files so far]\n\
         [2 other files were searched for: check_login]"
    );
    assert_eq!(found, expected);
    assert_eq!(bench.read_files(), ["a.rs", "b.rs"]);
    // As long as nobody knows how much is indexed, no answer says a number.
    bench.kept.is_at(None, None);
    let found = bench.codebase("check_login");
    assert!(
        found.contains("b.rs:2:") && found.contains("not been compared") && !found.contains('%'),
        "{found}"
    );
    // Words are searched for in the same form as in the index, whatever their case.
    assert!(bench.codebase("of the CHECKING").contains("b.rs:2:"));
    bench.kept.follow(|_| false);
    bench.kept.is_at(0, Some("searches do without an index: the disk is full"));
    let found = bench.codebase("check_login");
    assert!(found.contains("a.rs:2:fn check_login() {}") && found.contains("the disk is full"), "{found}");
}

#[test]
fn the_same_question_about_the_same_state_is_answered_from_memory() {
    let bench = Bench::new(&[("a.rs", AUTH)]);
    let ask = |query: &str| {
        let before = bench.kept.asked.load(Ordering::Relaxed);
        (bench.codebase(query), before != bench.kept.asked.load(Ordering::Relaxed))
    };
    let (first, looked) = ask("check_login");
    assert!(looked);
    assert_eq!(ask("check_login"), (first, false));
    assert!(ask("check_password").1);
    bench.write("b.rs", "fn check_login() {}\n");
    let (second, looked) = ask("check_login");
    assert!(looked && second.contains("b.rs"), "{second}");
    bench.kept.files.write(&path("c.rs"), "fn check_login() {}\n");
    bench.kept.follow(|_| true);
    let (third, looked) = ask("check_login");
    assert!(looked && third.contains("c.rs"), "{third}");
}

#[test]
fn a_judge_is_asked_in_a_turn_alone_and_gets_no_secret() {
    let query = "which of all these files tell how a login of somebody is checked";
    let mut bench = Bench::new(&[
        ("a.md", "A login is checked, and how: login login.\n"),
        ("b.md", "A login is checked, and then come many more words, about nothing.\n"),
        (".env", "login=checked\n"),
    ]);
    bench.kept.follow(|_| true);
    let plain = bench.codebase(query);
    assert!(plain.starts_with("a.md"), "{plain}");
    *bench.kept.order.lock().unwrap() = Some(vec![2, 0, 9]);
    assert_eq!(bench.codebase(query), plain);
    assert_eq!(*bench.kept.judged.lock().unwrap(), [] as [String; 0]);
    // In a turn whose user agreed to this call, files that hold secrets are found as well, but their text is not given
    // to the judge.
    (bench.attended, bench.consented) = (true, true);
    let judged = bench.codebase(query);
    let given = std::mem::take(&mut *bench.kept.judged.lock().unwrap());
    assert!(judged.starts_with("b.md") && judged.contains("\n.env"), "{judged}");
    assert!(!given.iter().any(|passage| passage.contains("login=")), "{given:?}");
    assert!(given.contains(&"a.md\nA login is checked, and how: login login.".to_owned()), "{given:?}");
    // A judgement that leaves out every place changes nothing.
    *bench.kept.order.lock().unwrap() = Some(vec![]);
    assert!(bench.codebase(query).starts_with(".env"));
    // A query that names a definition, or is short, is clear without a judge.
    bench.kept.judged.lock().unwrap().clear();
    bench.write("c.rs", "fn check_login() {}\n");
    bench.codebase("in which of all these files is the function check_login defined, please");
    bench.codebase("login");
    assert_eq!(*bench.kept.judged.lock().unwrap(), [] as [String; 0]);
}

#[test]
fn a_model_that_holds_little_is_shown_fewer_places() {
    let files: Vec<(String, String)> =
        (0..40).map(|at| (format!("{at:02}.md"), "# Needle\n\nhay\n".to_owned())).collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let mut bench = Bench::new(&files);
    let whole = bench.limits;
    for (window, places) in [(u64::MAX, 10), (200_000, 10), (8_000, 7), (1_000, 1)] {
        bench.limits = whole.for_window(window);
        let found = bench.codebase("needle");
        assert_eq!(found.matches("1: # Needle").count(), places, "{window}: {found}");
    }
}

#[test]
fn an_answer_is_bounded_and_no_text_is_another_place() {
    let long = format!("# Needle\n\n````\n{}````\n", "needle of many words in a line\n".repeat(2_000));
    let files: Vec<(String, String)> = (0..40).map(|at| (format!("{at:02}.md"), long.clone())).collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let bench = Bench::new(&files);
    let found = bench.codebase("needle");
    assert!(found.len() < 8_000, "{}", found.len());
    assert!(found.starts_with("00.md:1-") && found.contains("\n1: # Needle\n"), "{found}");
    bench.write("long.rs", &format!("fn long_one() {{\n{}}}\n", "    long_two();\n".repeat(900)));
    let long = bench.codebase("long_one");
    assert!(
        long.starts_with("long.rs:1-902 long_one\n1: fn long_one() {\n2: ") && long.len() < 2_000,
        "{long}"
    );
    let map = bench.call("repo_map", json!({"tokens": 1_000_000})).unwrap();
    assert!(map.len() < bench.limits.output_bytes + 200);
    bench.write("odd\nsrc/a.rs:1-2 name", "fn odd_one() {}\n");
    let odd = bench.codebase("odd_one");
    assert!(odd.starts_with("\"odd\\nsrc/a.rs:1-2 name\":1-1"), "{odd}");
    for (args, words) in [
        (json!({}), "the argument query is missing"),
        (json!({"query": "x", "paths": "a"}), "there is no argument \"paths\"; it takes query, path"),
        (json!({"query": "x", "path": "../a"}), "outside"),
        (json!({"query": "x", "path": "nowhere"}), "does not exist"),
    ] {
        let refused = bench.call("codebase", args).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
