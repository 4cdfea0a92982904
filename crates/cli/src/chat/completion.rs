//! Completes a `/` or an `@` that is being typed.

use std::path::Path;
use std::sync::Arc;

use headstart_context::{
    HostMention, MentionStart, ProjectRules, Rule, ToolMentionSource, mention_of_path, mention_of_resource,
    mention_start,
};
use headstart_machine::tool_servers::{ListedPrompt, ListedResource};
use headstart_machine::workspace::unignored;
use headstart_overlay_fs::{Tree, WorkspacePath};
use headstart_terminal::{Choice, Popup};
use headstart_tool_gate::GateContext;
use nucleo_matcher::chars::normalize;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use tokio::task::JoinHandle;

use super::{Chat, catalog, command};

/// The most files whose names are known.
const MAX_FILES: usize = 200_000;
/// The most choices that are listed.
const MAX_CHOICES: usize = 100;

/// The most threads that search the names, and the least names for each of them.
const MAX_THREADS: usize = 8;
const MIN_PART: usize = 10_000;
/// How many of very many names are compared exactly with what is typed.
const MAX_COMPARED: usize = 10 * MAX_CHOICES;

/// The entries of the list of keys, by the names of their actions.
const KEYS: [(&str, &str); 6] = [
    ("take", "takes the suggestion and what ran ahead for it"),
    ("right", "puts it into the prompt"),
    ("escape", "dismisses it; interrupts a turn"),
    ("read_newest", "what the work ahead would change, else the last output"),
    ("read_all", "the whole conversation"),
    ("next_mode", "the next mode: default, auto-edit, plan"),
];

/// The names that can follow an `@`.
#[derive(Default)]
pub(super) struct NameCompletion {
    /// The result of the last search of the workspace.
    lists: NameLists,
    /// A search of the workspace that is running.
    scan: Option<JoinHandle<NameLists>>,
    /// The paths that fit what was typed last, as far as they are known.
    found: FoundPaths,
    /// A search among very many paths that is running. The prompt does not wait for it.
    search: Option<JoinHandle<FoundPaths>>,
    /// The list that is shown, and stays until the one that fits what is typed now is known.
    shown: Option<Popup>,
    /// What the servers listed last, and a request to them that is running.
    offered: (Vec<ListedResource>, Vec<ListedPrompt>),
    server_request: Option<JoinHandle<(Vec<ListedResource>, Vec<ListedPrompt>)>>,
    /// Whether the list is open. The workspace is searched once each time it opens.
    is_open: bool,
}

/// The best paths for what is typed, the best first.
#[derive(Default)]
struct FoundPaths {
    typed: Option<String>,
    paths: Vec<String>,
}

/// What can be mentioned.
#[derive(Default)]
struct NameLists {
    /// Files and folders of the workspace.
    paths: Arc<Vec<String>>,
    /// The project's rules.
    rules: Vec<String>,
}

impl NameCompletion {
    /// Ends when a running search or request has ended.
    pub(super) async fn refresh(&mut self) {
        tokio::select! {
            found = finished(&mut self.scan) => {
                self.lists = found.unwrap_or_default();
                (self.found, self.search) = <_>::default();
            }
            found = finished(&mut self.search) => self.found = found.unwrap_or_default(),
            offered = finished(&mut self.server_request) => self.offered = offered.unwrap_or_default(),
        }
    }

    /// The best paths for what is typed; `None` while they are searched for.
    fn paths(&mut self, typed: &str) -> Option<&[String]> {
        if self.found.typed.as_deref() != Some(typed) {
            if self.search.is_some() {
                return None;
            }
            let (typed, paths) = (typed.to_owned(), Arc::clone(&self.lists.paths));
            let is_quick = typed.is_empty() || paths.len() <= MIN_PART;
            let find = move || FoundPaths { paths: best_paths(&typed, &paths), typed: Some(typed) };
            if !is_quick {
                self.search = Some(tokio::task::spawn_blocking(find));
                return None;
            }
            self.found = find();
        }
        Some(&self.found.paths)
    }
}

/// Waits for a search. Never ends if there is none.
async fn finished<T>(scan: &mut Option<JoinHandle<T>>) -> Option<T> {
    let Some(looking) = scan else { return std::future::pending().await };
    let found = looking.await.ok();
    *scan = None;
    found
}

impl Chat {
    /// Shows the completions of what is typed now.
    pub(super) fn complete(&mut self) {
        let popup = self.popup();
        self.completion.shown.clone_from(&popup);
        self.editor.set_popup(popup);
    }

    /// Waits until the list fits what is typed, before a key that could choose from it.
    pub(super) async fn finish_completion(&mut self) {
        while self.completion.search.is_some() {
            self.completion.found = finished(&mut self.completion.search).await.unwrap_or_default();
            self.complete_with_news();
        }
    }

    /// Shows completions with names that have just arrived, unless the user has moved the mark: they are then choosing
    /// from the list that they see.
    pub(super) fn complete_with_news(&mut self) {
        if self.completion.is_open && !self.editor.popup().is_some_and(Popup::is_moved) {
            self.complete();
        }
    }

    /// Notes that the user closed the list. It stays closed until they type on.
    pub(super) fn close_popup(&mut self) {
        self.completion.is_open = false;
    }

    fn popup(&mut self) -> Option<Popup> {
        let text = &self.editor.text()[..self.editor.cursor()];
        let is_typed = !self.editor.is_recalled() && self.editor.searches_for().is_none();
        let start = mention_start(text).filter(|_| is_typed);
        if is_typed && self.editor.text() == command::KEYS {
            return Popup::new(0, self.keys());
        }
        let line = text.strip_prefix('/').filter(|line| is_typed && command::may_be_command(line));
        let is_name = line.is_some_and(|line| !line.contains(' '));
        self.completion.is_open &= start.is_some() || is_name;
        if let Some(MentionStart { at, word }) = start {
            let (word, is_open) = (word.to_owned(), std::mem::replace(&mut self.completion.is_open, true));
            if !is_open {
                self.look_for_names();
                self.ask_servers();
            }
            return match self.mentions(&word) {
                Some(choices) => Popup::new(at, choices),
                None => self.completion.shown.take().filter(|popup| popup.from() == at),
            };
        }
        let line = line?.to_owned();
        if is_name && !std::mem::replace(&mut self.completion.is_open, true) {
            self.ask_servers();
        }
        match line.split_once(' ') {
            None => Popup::new(0, commands(&line, &self.completion.offered.1)),
            Some((name, argument)) => {
                let choices = catalog::find(name)?.choices;
                let choice = |word: &str| Choice {
                    label: word.to_owned(),
                    text: word.to_owned(),
                    is_whole: true,
                    ..Choice::default()
                };
                let fitting: Vec<_> = choices.iter().filter(|word| word.starts_with(argument)).collect();
                // An argument that is already typed in full needs no list.
                let is_there = fitting == [&argument];
                Popup::new(name.len() + 2, fitting.into_iter().map(|word| choice(word)).collect())
                    .filter(|_| !is_there)
            }
        }
    }

    /// The keys that a new user looks for. None of them is marked, so that Tab empties the prompt again.
    fn keys(&self) -> Vec<Choice> {
        let keys = &self.settings.screen.keys;
        let of_action = |(action, words): (&str, &str)| {
            Some(Choice { label: keys.hint(action)?, words: words.to_owned(), ..Choice::default() })
        };
        let row = |label: &str, words: &str| Choice {
            label: label.to_owned(),
            words: words.to_owned(),
            ..Choice::default()
        };
        let of_keys = KEYS.into_iter().filter_map(of_action);
        of_keys
            .chain([
                row("/ @ !", "commands; files and more; a command of yours"),
                row("?", "Enter: all of them"),
            ])
            .collect()
    }

    /// Searches the workspace in the background.
    fn look_for_names(&mut self) {
        if self.completion.scan.is_some() {
            return;
        }
        let (workspace, gate) = (self.parts.workspace.clone(), self.parts.gate_context());
        let tree = Arc::clone(&self.parts.engine.workspace) as Arc<dyn Tree>;
        self.completion.scan = Some(tokio::spawn(async move {
            let rules = ProjectRules::read(&tree, &gate).await;
            let rules = rules.rules().iter().map(Rule::name).collect();
            let paths = tokio::task::spawn_blocking(move || paths(&workspace, &gate, MAX_FILES)).await;
            NameLists { paths: Arc::new(paths.unwrap_or_default()), rules }
        }));
    }

    /// Asks the servers in the background what they list. They are asked once, until they say that their lists have
    /// changed.
    fn ask_servers(&mut self) {
        if self.completion.server_request.is_none() && self.parts.server_tools.has_servers() {
            let servers = Arc::clone(&self.parts.server_tools);
            self.completion.server_request = Some(tokio::spawn(async move { servers.offers().await }));
        }
    }

    /// Forgets what the servers listed, because they are other servers now. If the list is open, they are asked at
    /// once.
    pub(super) fn servers_changed(&mut self) {
        self.completion.server_request = None;
        self.completion.offered = <_>::default();
        if self.completion.is_open {
            self.ask_servers();
        }
    }

    /// What can be mentioned and fits the word; `None` while it is searched for.
    fn mentions(&mut self, word: &str) -> Option<Vec<Choice>> {
        let toolbox = &self.parts.engine.toolbox;
        let outside = HostMention::ALL.into_iter().filter(|what| ToolMentionSource::supports(toolbox, *what));
        let mut special: Vec<_> = outside
            .map(|what| Choice {
                label: format!("@{}", what.name()),
                words: what.description().to_owned(),
                text: format!("@{} ", what.name()),
                is_whole: false,
            })
            .collect();
        special.extend(self.completion.lists.rules.iter().map(|name| Choice {
            label: format!("@rule:{name}"),
            words: "a rule of the project".to_owned(),
            text: format!("@rule:{name} "),
            is_whole: false,
        }));
        special.extend(self.completion.offered.0.iter().filter_map(|resource| {
            let label = mention_of_resource(&resource.server, &resource.uri)?;
            let text = format!("{label} ");
            Some(Choice { label, words: resource.words.clone(), text, is_whole: false })
        }));
        let special = special.into_iter().map(|choice| (choice.label[1..].to_owned(), choice));
        let special = best(word, special);
        let of_path = |path: &String| {
            let mention = mention_of_path(path)?;
            // No space follows a folder, because a file in it may be typed next.
            let end = if path.ends_with('/') && !mention.ends_with('"') { "" } else { " " };
            let text = format!("{mention}{end}");
            Some(Choice { label: mention, text, ..Choice::default() })
        };
        let found = self.completion.paths(word)?.iter().filter_map(of_path);
        Some(special.into_iter().chain(found).take(MAX_CHOICES).collect())
    }
}

/// The commands that begin with what is typed, followed by the prompts of servers.
fn commands(typed: &str, prompts: &[ListedPrompt]) -> Vec<Choice> {
    let all = catalog::COMMANDS.iter().map(|entry| {
        let is_whole = entry.argument.is_empty();
        let text = if is_whole { format!("/{}", entry.name) } else { format!("/{} ", entry.name) };
        let choice = Choice { label: entry.usage(), words: entry.words.to_owned(), text, is_whole };
        (entry.name.to_owned(), choice)
    });
    let prompts = prompts.iter().map(|prompt| {
        let name = format!("{}:{}", prompt.server, prompt.name);
        let is_whole = prompt.arguments.is_empty();
        let text = if is_whole { format!("/{name}") } else { format!("/{name} ") };
        (name, Choice { label: prompt.usage(), words: prompt.words.clone(), text, is_whole })
    });
    best(typed, all.chain(prompts))
}

/// The entries that fit what is typed, the best first. If nothing is typed, these are all entries in their order.
pub(super) fn best<N: AsRef<str>, T>(typed: &str, all: impl IntoIterator<Item = (N, T)>) -> Vec<T> {
    if typed.is_empty() {
        return all.into_iter().take(MAX_CHOICES).map(|(_, choice)| choice).collect();
    }
    let pattern = Pattern::new(typed, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let mut letters = Vec::new();
    let score = |(name, choice): (N, T)| {
        let score = pattern.score(Utf32Str::new(name.as_ref(), &mut letters), &mut matcher)?;
        Some((score, name, choice))
    };
    let mut fitting: Vec<_> = all.into_iter().filter_map(score).collect();
    let by_fit = |(one, name, _): &(u32, N, T), (other, others, _): &(u32, N, T)| {
        let (name, others) = (name.as_ref(), others.as_ref());
        other.cmp(one).then(name.len().cmp(&others.len())).then(name.cmp(others))
    };
    // A single letter fits nearly all of 200,000 paths, so only those that are listed are sorted.
    if MAX_CHOICES < fitting.len() {
        fitting.select_nth_unstable_by(MAX_CHOICES, by_fit);
        fitting.truncate(MAX_CHOICES);
    }
    fitting.sort_by(by_fit);
    fitting.into_iter().map(|(_, _, choice)| choice).collect()
}

/// Like [`best`], for very many paths on all cores: the list has to follow the keys, even if all 200,000 paths contain
/// what is typed. An exact comparison of that many takes up to 90 ms, a rough one a fifth of it.
fn best_paths(typed: &str, paths: &[String]) -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let part = paths.len().div_ceil(cores).max(MIN_PART);
    let found: Vec<_> = match paths.len() {
        _ if typed.is_empty() => paths.iter().take(MAX_CHOICES).collect(),
        0..=MIN_PART => paths.iter().collect(),
        _ => std::thread::scope(|scope| {
            let parts: Vec<_> =
                paths.chunks(part).map(|part| scope.spawn(move || roughly_best(typed, part))).collect();
            parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
        }),
    };
    best(typed, found.into_iter().map(|path| (path, path))).into_iter().cloned().collect()
}

/// The paths that fit what is typed, by a score for which each path is read once only, so that it may be lower than
/// that of [`best`].
fn roughly_best<'a>(typed: &str, paths: &'a [String]) -> Vec<&'a String> {
    let pattern = Pattern::new(typed, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
    let mut config = Config::DEFAULT.match_paths();
    config.ignore_case = !typed.contains(char::is_uppercase);
    // What is typed with an accent only fits names with this accent.
    config.normalize = typed.chars().all(|letter| normalize(letter) == letter);
    let mut matcher = Matcher::new(config);
    let mut letters = Vec::new();
    let score = |path: &'a String| {
        let text = Utf32Str::new(path, &mut letters);
        let mut scores =
            pattern.atoms.iter().map(|atom| matcher.fuzzy_match_greedy(text, atom.needle_text()));
        Some((scores.try_fold(0, |sum, score| Some(sum + u32::from(score?)))?, path))
    };
    let mut fitting: Vec<_> = paths.iter().filter_map(score).collect();
    if MAX_COMPARED < fitting.len() {
        fitting.select_nth_unstable_by(MAX_COMPARED, |(one, path), (other, paths)| {
            other.cmp(one).then(path.len().cmp(&paths.len())).then(path.cmp(paths))
        });
        fitting.truncate(MAX_COMPARED);
    }
    fitting.into_iter().map(|(_, path)| path).collect()
}

/// The files and folders of a workspace that can be mentioned, those near its root first. Folders end with a slash.
fn paths(workspace: &Path, gate: &GateContext, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    for entry in unignored(workspace).flatten().take(most) {
        let Some(path) = entry.path().strip_prefix(workspace).ok().and_then(Path::to_str) else { continue };
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let Ok(parsed) = WorkspacePath::parse(path) else { continue };
        if path.is_empty() || path.contains(char::is_control) || gate.denies(&parsed) {
            continue;
        }
        found.push(if is_folder { format!("{path}/") } else { path.to_owned() });
    }
    let depth = |path: &String| path.trim_end_matches('/').matches('/').count();
    found.sort_by(|one, other| depth(one).cmp(&depth(other)).then(one.cmp(other)));
    found
}

#[cfg(test)]
mod tests {
    use headstart_tool_gate::DenyRules;

    use super::*;

    #[test]
    fn the_best_of_what_fits_comes_first() {
        let of = |typed: &str| {
            commands(typed, &[]).iter().map(|choice| choice.text.trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of("di"), ["/diff", "/editor"]);
        assert_eq!(of("prm")[0], "/permissions");
        assert_eq!(of("").len(), catalog::COMMANDS.len());
        assert_eq!(of("zzz"), Vec::<String>::new());
    }

    #[test]
    fn of_a_hundred_thousand_files_some_are_listed_and_no_more_than_may_be_known() {
        const FILES: usize = 100_000;
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("many")).unwrap();
        for number in 0..FILES {
            std::fs::File::create(folder.path().join(format!("many/{number:06}.txt"))).unwrap();
        }
        let gate = GateContext::default();
        let all = paths(folder.path(), &gate, MAX_FILES);
        assert_eq!((all.len(), all[0].as_str()), (FILES + 1, "many/"));
        // The workspace itself counts as one of the searched entries.
        assert_eq!(paths(folder.path(), &gate, 1_000).len(), 999);
        let fitting = best_paths("0999", &all);
        assert_eq!(
            fitting,
            best("0999", all.iter().map(|path| (path, path.clone()))),
            "roughly first, or exactly at once"
        );
        let some =
            [&all[..=MIN_PART], &["many/Ärger.txt".to_owned(), "many/weiß/ärger.txt".to_owned()]].concat();
        for (typed, least) in [
            ("M", 0),
            ("arger", 2),
            ("Arger", 1),
            ("ärger", 1),
            ("ß ä", 1),
            ("many/ 0999", 37),
            ("099 txt", 100),
        ] {
            let exactly = best(typed, some.iter().map(|path| (path, path)));
            assert!(least <= exactly.len(), "{typed}");
            assert_eq!(best_paths(typed, &some).len(), exactly.len(), "{typed}");
        }
        assert_eq!(best_paths("", &all), all[..MAX_CHOICES]);
        assert_eq!(fitting.len(), MAX_CHOICES);
        assert!(fitting.iter().all(|path| path.contains("0999") || path.contains('9')), "{fitting:?}");
    }

    #[test]
    fn closed_and_ignored_paths_are_not_named() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["src/lib.rs", "my notes.txt", ".env", "target/out", "private/key.txt", ".git/config"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(folder.path().join(".gitignore"), "target/\n").unwrap();
        let gate =
            GateContext { deny: DenyRules::from_patterns(["private/"]).unwrap(), ..GateContext::default() };
        assert_eq!(
            paths(folder.path(), &gate, MAX_FILES),
            [".gitignore", "my notes.txt", "src/", "src/lib.rs"]
        );
    }
}
