//! Measures commands that build and test, in a view and on disk by turns: after an edit, and if nothing changed.
//!
//! A fresh view has no files of its own, so a file that a tool rewrites is first copied from below. A held view has
//! these files since its first command.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "processes and files are what is measured, and time"
)]
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]
#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headstart_overlay_fs::{ChangeSet, OsTree, Overlay, Quota};
use headstart_shadow::{BuildLayer, BuildRoom, Command, Options, Prepared, View, remove_folder};
use headstart_workspace_path::WorkspacePath;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(600);
/// After this time a project gets no further round, if it had three.
const TIME: Duration = Duration::from_secs(60);
/// How long before its use a view is prepared. Work ahead prepares a view when it begins and after each command, and a
/// model takes longer than this until the next command.
const AHEAD: Duration = Duration::from_millis(300);

/// A project, the command that tests it, and the file that is edited each time.
struct Project {
    name: &'static str,
    /// A program that the project needs. Without it the project is left out.
    needs: &'static str,
    files: fn() -> Vec<(String, String)>,
    edited: &'static str,
    text: fn(usize) -> String,
    line: &'static str,
    /// The project's folder of build output, if it has one.
    output: Option<&'static str>,
}

const PROJECTS: [Project; 4] = [
    Project {
        name: "cargo test",
        needs: "cargo",
        files: crates,
        edited: "src/lib.rs",
        text: |round| {
            format!(
                "pub fn value() -> usize {{ one::value() + two::value() + three::value() + {round} }}\n\
                 #[test]\nfn adds() {{ assert_eq!(value(), {}); }}\n",
                6 + round
            )
        },
        line: "cargo test -q --offline",
        output: Some("target"),
    },
    Project {
        name: "tsc --noEmit",
        needs: "tsc",
        files: || {
            let module = |number| {
                let import = if number == 0 { "0".to_owned() } else { format!("m{} + 1", number - 1) };
                let from = if number == 0 {
                    String::new()
                } else {
                    format!("import {{ m{0} }} from './m{0}';\n", number - 1)
                };
                (format!("src/m{number}.ts"), format!("{from}export const m{number}: number = {import};\n"))
            };
            let config =
                ("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}, \"include\": [\"src\"]}");
            (0..100).map(module).chain([(config.0.to_owned(), config.1.to_owned())]).collect()
        },
        edited: "src/edited.ts",
        text: |round| {
            format!("import {{ m99 }} from './m99';\nexport const edited: number = m99 + {round};\n")
        },
        line: "tsc --noEmit",
        output: None,
    },
    Project {
        name: "python3 -m unittest",
        needs: "python3",
        files: || {
            let test = "import unittest, value\nclass T(unittest.TestCase):\n    def test(self): self.assertTrue(value.V >= 0)\n";
            vec![("test_value.py".to_owned(), test.to_owned())]
        },
        edited: "value.py",
        text: |round| format!("V = {round}\n"),
        line: "python3 -m unittest -q",
        output: None,
    },
    Project {
        name: "node --test",
        needs: "node",
        files: || {
            let test = "const test = require('node:test');\ntest('value', () => { if (!(require('./value') >= 0)) throw 1; });\n";
            vec![("value.test.js".to_owned(), test.to_owned())]
        },
        edited: "value.js",
        text: |round| format!("module.exports = {round};\n"),
        line: "node --test",
        output: None,
    },
];

fn crates() -> Vec<(String, String)> {
    let manifest = |name: &str, more: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
    };
    let names = [("one", 1), ("two", 2), ("three", 3)];
    let needed = names.map(|(name, _)| format!("{name} = {{ path = \"{name}\" }}\n")).concat();
    let below = names.into_iter().flat_map(|(name, value)| {
        let source = format!("pub fn value() -> usize {{ {value} }}\n");
        [(format!("{name}/Cargo.toml"), manifest(name, "")), (format!("{name}/src/lib.rs"), source)]
    });
    let top = manifest("top", &format!("[dependencies]\n{needed}[workspace]\n"));
    [("Cargo.toml".to_owned(), top), (".gitignore".to_owned(), "target\n".to_owned())]
        .into_iter()
        .chain(below)
        .collect()
}

fn main() -> ExitCode {
    if let Some(code) = headstart_shadow::entry(std::env::args_os()) {
        return code;
    }
    // Under `cargo test --benches` one round is enough, because that only checks that the benchmark runs.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let rounds = if is_bench { 12 } else { 1 };
    let asked: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    println!("load {}", fs::read_to_string("/proc/loadavg").unwrap().trim());
    for project in &PROJECTS {
        if asked.is_empty() || asked.iter().any(|asked| project.name.contains(asked.as_str())) {
            measure(project, rounds);
        }
    }
    println!("load {}", fs::read_to_string("/proc/loadavg").unwrap().trim());
    ExitCode::SUCCESS
}

/// Folders for a project and for what views of it write.
struct World {
    folder: TempDir,
    path: String,
    shown: Vec<PathBuf>,
}

fn measure(project: &Project, rounds: usize) {
    let Some(world) = World::new(project) else {
        println!("{} is not installed: {} is left out", project.needs, project.name);
        return;
    };
    world.write("direct", project);
    world.write("viewed", project);
    for place in ["direct", "viewed"] {
        edit(&world.at(place), project, 0);
        world.run(place, project.line);
    }
    // Builds once from the workspace as it is on disk, as the lower layer of all other views.
    let mut view = world.view(project, "warm", &[]);
    world.in_view(&mut view, project.line);
    view.end();
    let below = vec![world.at("warm").join("0/upper")];
    let built = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos()).unwrap();

    let mut held = world.view(project, "held", &[]);
    let names = ["direct", "fresh view, with its start", "the same, prepared", "held view"];
    let mut edited = names.map(|name| (name, Vec::new()));
    let mut unchanged = names.map(|name| (name, Vec::new()));
    let until = Instant::now() + TIME;
    for round in 1..=rounds {
        if 3 < round && until < Instant::now() {
            break;
        }
        let staged = world.staged(project, round);
        edit(&world.at("direct"), project, round);
        edited[0].1.push(timed(|| world.run("direct", project.line)));
        let name = format!("fresh-{round}");
        let took = timed(|| {
            let mut view = world.view(project, &name, &[]);
            view.show(&staged).unwrap();
            world.in_view(&mut view, project.line);
            drop(view);
        });
        edited[1].1.push(took);
        let (name, prepared) = (format!("prepared-{round}"), prepare());
        let took = timed(|| {
            let mut view = world.view_with(project, &name, &[], Some(prepared));
            view.show(&staged).unwrap();
            world.in_view(&mut view, project.line);
            drop(view);
        });
        edited[2].1.push(took);
        let took = timed(|| {
            held.show(&staged).unwrap();
            world.in_view(&mut held, project.line);
        });
        // The first command in a held view costs the same as in a fresh one, so it is not counted.
        if 1 < round || rounds == 1 {
            edited[3].1.push(took);
        }
        unchanged[0].1.push(timed(|| world.run("direct", project.line)));
        let name = format!("same-{round}");
        let took = timed(|| {
            let mut view = world.view(project, &name, &below);
            view.renew(built, &[]).unwrap();
            world.in_view(&mut view, project.line);
            drop(view);
        });
        unchanged[1].1.push(took);
        let (name, prepared) = (format!("prepared-same-{round}"), prepare());
        let took = timed(|| {
            let mut view = world.view_with(project, &name, &below, Some(prepared));
            view.renew(built, &[]).unwrap();
            world.in_view(&mut view, project.line);
            drop(view);
        });
        unchanged[2].1.push(took);
        unchanged[3].1.push(timed(|| world.in_view(&mut held, project.line)));
    }
    drop(held);
    print(&format!("{}, after an edit", project.name), edited);
    print(&format!("{}, nothing changed", project.name), unchanged);
}

fn prepare() -> Prepared {
    let prepared = Prepared::new(&Options::new(".").program).unwrap();
    std::thread::sleep(AHEAD);
    prepared
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn print(title: &str, rows: [(&str, Vec<Duration>); 4]) {
    let mut floor = None;
    for (name, mut times) in rows {
        times.sort();
        let (least, median) = (times[0], times[times.len() / 2]);
        let (floor_least, floor_median) = *floor.get_or_insert((least, median));
        let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
        println!(
            "{title:<40} {name:<28} least {least:>8.1?} ({:.2})  median {median:>8.1?} ({:.2})",
            ratio(least, floor_least),
            ratio(median, floor_median)
        );
    }
}

fn edit(at: &Path, project: &Project, round: usize) {
    let file = at.join(project.edited);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, (project.text)(round)).unwrap();
}

impl World {
    fn new(project: &Project) -> Option<Self> {
        // The system's own program comes first, because others may be scripts that need more files than a view shows.
        let folders = [PathBuf::from("/usr/bin")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH")?).collect::<Vec<_>>());
        let found = folders.map(|folder| folder.join(project.needs)).find(|file| file.is_file())?;
        let (mut path, mut shown) = ("/usr/bin:/bin".to_owned(), Vec::new());
        let mut show = |folder: PathBuf, bin: PathBuf| {
            path = format!("{}:{path}", bin.display());
            shown.push(folder);
        };
        if project.needs == "cargo" {
            // The compiler is called directly and not by rustup, which looks up at each start which toolchain is meant.
            let said = Process::new("rustc").args(["--print", "sysroot"]).output().unwrap();
            let root = PathBuf::from(String::from_utf8(said.stdout).unwrap().trim());
            show(root.clone(), root.join("bin"));
        } else {
            let file = found.canonicalize().unwrap();
            let package = file.ancestors().find(|at| at.ends_with("node_modules")).map(Path::to_owned);
            match package {
                Some(package) => show(package.clone(), package.join(".bin")),
                None => show(file.parent()?.to_owned(), file.parent()?.to_owned()),
            }
        }
        let folder = tempfile::Builder::new().prefix("shadow-bench-").tempdir_in("/var/tmp").unwrap();
        for place in ["home", "direct", "viewed"] {
            fs::create_dir(folder.path().join(place)).unwrap();
        }
        Some(Self { folder, path, shown })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, place: &str, project: &Project) {
        for (name, text) in (project.files)() {
            let file = self.at(place).join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }

    fn run(&self, place: &str, line: &str) {
        let mut command = Process::new("/bin/sh");
        command.args(["-c", line]).current_dir(self.at(place)).env_clear();
        command.env("PATH", &self.path).env("HOME", self.at("home"));
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    fn view(&self, project: &Project, name: &str, below: &[PathBuf]) -> View {
        self.view_with(project, name, below, None)
    }

    fn view_with(
        &self,
        project: &Project,
        name: &str,
        below: &[PathBuf],
        prepared: Option<Prepared>,
    ) -> View {
        let folder = self.at(name);
        fs::create_dir(&folder).unwrap();
        let layer =
            |path: &str| BuildLayer { path: WorkspacePath::parse(path).unwrap(), below: below.to_vec() };
        let build = project.output.map(|path| BuildRoom {
            folder: folder.clone(),
            measured: folder,
            layers: vec![layer(path)],
            bytes: 1 << 30,
        });
        let options = Options { build, show: self.shown.clone(), ..Options::new(self.at("viewed")) };
        View::start_with(&options.of_user(Some(&self.at("home")), None), prepared).unwrap()
    }

    fn in_view(&self, view: &mut View, line: &str) {
        let command = Command::shell(line, PATIENCE)
            .with_variable("PATH", &self.path)
            .with_variable("HOME", self.at("home"));
        let ran = view.run(&command).unwrap();
        assert!(ran.end.is_success(), "{line}: {}", String::from_utf8_lossy(&ran.stdout));
    }

    fn staged(&self, project: &Project, round: usize) -> ChangeSet {
        let tree = Arc::new(OsTree::open(self.at("viewed")).unwrap());
        let overlay = Overlay::new(tree, Quota::default());
        let path = WorkspacePath::parse(project.edited).unwrap();
        futures::executor::block_on(overlay.write(&path, (project.text)(round).into_bytes())).unwrap();
        overlay.change_set()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Overlayfs leaves folders that nobody may open, so these are removed by a function that changes their modes
        // first.
        for entry in fs::read_dir(self.folder.path()).into_iter().flatten().flatten() {
            let _ = remove_folder(&entry.path());
        }
    }
}
