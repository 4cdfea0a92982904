//! One story that every server has to pass: the errors of a project are checked for a list of states, forwards and then
//! backwards, so that nothing of one state may stay for the next.

use std::process::Command;
use std::time::{Duration, Instant};

use headstart_code_intel::{Delta, IntelError, Settings, Severity, Snapshot, SymbolPosition};
use headstart_overlay_fs::{Overlay, Tree as _};

use crate::support::{TestProject, find, path, require};

/// A project, its states, and the questions about one of its names.
pub(crate) struct Story {
    pub(crate) server: &'static str,
    pub(crate) programs: &'static [&'static str],
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// A file that uses the other files.
    pub(crate) main: &'static str,
    pub(crate) states: &'static [State],
    /// The line and text of a name in the main file; `defined` is the place of its definition.
    pub(crate) name: (usize, &'static str),
    pub(crate) defined: &'static str,
    /// How many places use the name.
    pub(crate) uses: usize,
    /// A text that the explanation of the name contains.
    pub(crate) hover: &'static str,
    /// The files that change if the name is renamed.
    pub(crate) renamed: &'static [&'static str],
    /// The command that compiles or runs the project.
    pub(crate) compiler: &'static [&'static str],
}

/// Edits, and the places of the errors that are new with them, as `path:line`, sorted.
pub(crate) struct State {
    pub(crate) what: &'static str,
    pub(crate) edits: &'static [(&'static str, Option<&'static str>)],
    pub(crate) new: &'static [&'static str],
}

impl Story {
    pub(crate) fn world(&self) -> TestProject {
        for program in self.programs {
            require(program);
        }
        let mut settings = Settings { request_timeout: Duration::from_secs(60), ..Settings::default() };
        settings.adapters.retain(|adapter| adapter.name == self.server);
        TestProject::new(self.files, settings)
    }

    pub(crate) fn run(&self) {
        let world = self.world();
        let started = Instant::now();
        let cold = world.ready(self.main);
        println!("{}: cold {:?}", self.server, started.elapsed());
        assert_eq!(errors(&cold), [""; 0], "{}: the unchanged project", self.server);
        let backwards = self.states.iter().rev();
        for state in self.states.iter().chain(backwards) {
            let snapshot = Snapshot::of(world.staged(state.edits));
            let asked = Instant::now();
            let paths = if state.edits.is_empty() { vec![path(self.main)] } else { Vec::new() };
            let delta = async_io::block_on(world.intel.diagnostics(&snapshot, &paths, Severity::Error));
            println!("{}: {} {:?}", self.server, state.what, asked.elapsed());
            let delta = delta.unwrap();
            assert_eq!(errors(&delta), state.new, "{}: {}: {delta:#?}", self.server, state.what);
            assert_eq!(delta.partial, None, "{}: {}", self.server, state.what);
        }
        self.ask_about_places(&world);
        println!("{}: {:?}", self.server, world.intel.servers());
    }

    fn ask_about_places(&self, world: &TestProject) {
        let place =
            || SymbolPosition { path: path(self.main), line: self.name.0, symbol: self.name.1.to_owned() };
        let snapshot = Snapshot::unchanged();
        async_io::block_on(async {
            let intel = &world.intel;
            let definition = intel.definition(&snapshot, place()).await.unwrap();
            let at = |place: &headstart_code_intel::Location| {
                format!("{}:{}", place.path.as_ref().unwrap(), place.line)
            };
            assert_eq!(definition.places.iter().map(at).collect::<Vec<_>>(), [self.defined]);
            let references = intel.references(&snapshot, place()).await.unwrap();
            assert_eq!(references.count, self.uses, "{references:?}");
            let hover = intel.hover(&snapshot, place()).await.unwrap().unwrap();
            assert!(hover.contains(self.hover), "{hover}");
            let (file, line) = self.defined.split_once(':').unwrap();
            let symbols = intel.symbols_of(&snapshot, &path(file)).await.unwrap();
            let line: u32 = line.parse().unwrap();
            assert!(
                symbols.symbols.iter().any(|symbol| symbol.line == line && symbol.name.contains(self.name.1)),
                "{symbols:?}"
            );
            let plan = intel.rename(&snapshot, place(), "renamed_by_test").await.unwrap();
            let overlay = world.overlay();
            plan.apply(&overlay).await.unwrap();
            let changes = overlay.change_set();
            let paths: Vec<String> = changes.changes.iter().map(|change| change.path.to_string()).collect();
            assert_eq!(paths, self.renamed);
            world.compile(&overlay, self.compiler).await;
            let renamed = Snapshot::of(changes);
            let delta = intel.diagnostics(&renamed, &[], Severity::Error).await.unwrap();
            assert_eq!(errors(&delta), [""; 0], "{}: after the rename", self.server);
        });
    }
}

impl TestProject {
    /// Fails unless the compiler accepts the project as the overlay shows it.
    pub(crate) async fn compile(&self, overlay: &Overlay, compiler: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let changes = overlay.change_set();
        let known = self.files.keys().map(|name| path(name));
        for file in known.chain(changes.changes.iter().map(|change| change.path.clone())) {
            // A file that was removed in the overlay is left out.
            let Ok(text) = overlay.read(&file).await else { continue };
            let at = folder.path().join(file.to_string());
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(at, text).unwrap();
        }
        require(compiler[0]);
        let mut command = Command::new(find(compiler[0]).unwrap());
        command.args(&compiler[1..]).current_dir(folder.path()).env_remove("CARGO_TARGET_DIR");
        let done = command.output().unwrap();
        let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(done.status.success(), "{compiler:?}: {said:?}");
    }

    /// Waits until the server has loaded the project, and returns the diagnostics of the unchanged project.
    pub(crate) fn ready(&self, main: &str) -> Delta {
        for _ in 0..5 {
            match async_io::block_on(self.intel.diagnostics(
                &Snapshot::unchanged(),
                &[path(main)],
                Severity::Error,
            )) {
                Ok(delta) if delta.partial.is_none() => return delta,
                Ok(_) | Err(IntelError::Loading { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        panic!("the server did not settle");
    }
}

/// The places of the new errors, sorted and each once.
pub(crate) fn errors(delta: &Delta) -> Vec<String> {
    let mut places: Vec<String> = delta.new.iter().map(|one| format!("{}:{}", one.path, one.line)).collect();
    places.sort();
    places.dedup();
    places
}
