use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::*;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The target of this machine, which is what the tests can install.
fn here() -> Target {
    let libc = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    let triple = match std::env::consts::OS {
        "macos" => format!("{}-apple-darwin", std::env::consts::ARCH),
        _ => format!("{}-unknown-linux-{libc}", std::env::consts::ARCH),
    };
    Target::find(&triple).unwrap()
}

/// A program that stands for the binary. It prints its version, and ends as its arguments say.
fn fake_binary(folder: &Path) -> PathBuf {
    let binary = folder.join("stand-in");
    let script = "#!/bin/sh\ncase $1 in\n--version) echo headstart 0.0.0-test ;;\nexit) exit \"$2\" ;;\nsignal) kill -s \"$2\" $$ ;;\n*) printf '%s|' \"$@\" ;;\nesac\n";
    fs::write(&binary, script).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    binary
}

/// Serves the files of a folder. Returns the address.
fn serve(folder: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 4096];
            let length = stream.read(&mut bytes).unwrap_or_default();
            let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
            let (status, body) = match fs::read(folder.join(path)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    url
}

struct Release {
    folder: tempfile::TempDir,
    files: PathBuf,
}

impl Release {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        archive(&repository(), here(), &fake_binary(folder.path()), &files).unwrap();
        assemble(&repository(), &files, &serve(&files)).unwrap();
        Self { folder, files }
    }

    /// Runs the installer for a user whose home folder is empty.
    fn install(&self) -> (Output, PathBuf) {
        let home = self.folder.path().join("home");
        fs::create_dir_all(&home).unwrap();
        let mut shell = Command::new("sh");
        shell.arg(self.files.join("install.sh")).env_clear().env("HOME", &home);
        shell.env("PATH", std::env::var_os("PATH").unwrap()).env("HEADSTART_LIBC", "gnu");
        (shell.output().unwrap(), home.join(".local/bin/headstart"))
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_installer_installs_what_was_released() {
    let release = Release::new();
    let (output, binary) = release.install();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("is not in your PATH"), "{}", stderr(&output));
    let version = Command::new(&binary).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&version.stdout), "headstart 0.0.0-test\n");
    // A second run replaces the binary, and leaves nothing else in the folder.
    assert!(release.install().0.status.success());
    assert_eq!(fs::read_dir(binary.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn the_licences_of_others_go_along() {
    let notices = archive::licences(&repository(), here()).unwrap();
    // One package of every kind: one that is always compiled in, one of a feature that is on, one that only tests use,
    // and one of the workspace.
    for (name, is_in) in [
        ("serde_json ", true),
        ("syntect ", true),
        ("rmcp ", true),
        ("insta ", false),
        ("headstart-agent ", false),
    ] {
        let listed = notices
            .lines()
            .any(|line| line.split(", ").any(|one| one.starts_with(name)) && line.len() < 10_000);
        assert_eq!(listed, is_in, "{name}");
    }
    for text in ["Permission is hereby granted", "Apache License", "Mozilla Public License"] {
        assert!(notices.contains(text), "{text}");
    }
    let release = Release::new();
    let archive = release.files.join(here().archive_name(&version::of_workspace(&repository()).unwrap()));
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(fs::File::open(archive).unwrap()));
    let mut packed = tar.entries().unwrap().map(Result::unwrap);
    let mut packed = packed.find(|entry| entry.path().unwrap().ends_with(crate::notices::FILE)).unwrap();
    let mut text = String::new();
    packed.read_to_string(&mut text).unwrap();
    assert_eq!(text, notices);
}

#[test]
fn the_installer_refuses_what_is_not_the_release() {
    let release = Release::new();
    let archive = fs::read_dir(&release.files).unwrap().map(|entry| entry.unwrap().path());
    let archive = archive.into_iter().find(|path| path.extension().is_some_and(|end| end == "gz")).unwrap();
    let mut bytes = fs::read(&archive).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&archive, bytes).unwrap();
    let (output, binary) = release.install();
    assert!(!output.status.success());
    assert!(stderr(&output).contains("is not what was released"), "{}", stderr(&output));
    fs::remove_file(&archive).unwrap();
    let (output, _) = release.install();
    assert!(!output.status.success());
    assert!(stderr(&output).contains("cannot be fetched"), "{}", stderr(&output));
    assert!(!binary.exists());
}

#[test]
fn an_installer_that_breaks_off_does_nothing() {
    let release = Release::new();
    let script = fs::read_to_string(release.files.join("install.sh")).unwrap();
    let all: Vec<&str> = script.lines().collect();
    for length in (0..all.len() - 1).step_by(7) {
        fs::write(release.files.join("install.sh"), all[..length].join("\n")).unwrap();
        let (_, binary) = release.install();
        assert!(!binary.exists(), "{length} lines");
    }
}

#[test]
fn a_binary_that_is_too_large_is_not_released() {
    let folder = tempfile::tempdir().unwrap();
    let binary = fake_binary(folder.path());
    fs::OpenOptions::new().write(true).open(&binary).unwrap().set_len(45_000_001).unwrap();
    let refused = archive(&repository(), here(), &binary, &folder.path().join("files"));
    assert!(matches!(refused, Err(ReleaseError::Size { bytes: 45_000_001, .. })), "{refused:?}");
}

#[test]
fn the_same_files_make_the_same_archive() {
    let folder = tempfile::tempdir().unwrap();
    let binary = fake_binary(folder.path());
    let pack = |name: &str| {
        let archive = archive(&repository(), here(), &binary, &folder.path().join(name)).unwrap();
        fs::read(archive).unwrap()
    };
    assert_eq!(pack("one"), pack("two"));
}

#[test]
fn the_npm_packages_bring_the_binary_and_start_it() {
    let release = Release::new();
    let project = release.folder.path().join("project");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("package.json"), "{\"private\": true}").unwrap();
    let packed = fs::read_dir(release.files.join("npm")).unwrap().map(|entry| entry.unwrap().path());
    let packed: Vec<_> = packed.filter(|path| path.extension().is_some_and(|end| end == "tgz")).collect();
    assert_eq!(packed.len(), 2, "{packed:?}");
    let mut npm = Command::new("npm");
    npm.args(["install", "--offline", "--no-audit", "--no-fund", "--silent"])
        .args(&packed)
        .current_dir(&project);
    let installed = npm.output().expect("npm is installed");
    assert!(installed.status.success(), "{}", stderr(&installed));
    let start = |arguments: &[&str]| {
        let mut launcher = Command::new(project.join("node_modules/.bin/headstart"));
        launcher.args(arguments).output().expect("the launcher starts")
    };
    assert_eq!(String::from_utf8_lossy(&start(&["--version"]).stdout), "headstart 0.0.0-test\n");
    assert_eq!(String::from_utf8_lossy(&start(&["a b", "", "*"]).stdout), "a b||*|");
    assert_eq!(start(&["exit", "4"]).status.code(), Some(4));
    let ended = start(&["signal", "TERM"]).status;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(15), "{ended}");
    // If the optional dependency was not installed, the launcher says so.
    let platform = fs::read_dir(project.join("node_modules")).unwrap().map(|entry| entry.unwrap().path());
    let platform = platform.into_iter().find(|path| path.join("bin/headstart").exists()).unwrap();
    fs::remove_dir_all(platform).unwrap();
    let missing = start(&["--version"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("install again with them"), "{}", stderr(&missing));
}

/// A release with an archive for Windows, whose binary is the stand-in.
fn with_windows() -> Release {
    let release = Release::new();
    let windows = Target::find("x86_64-pc-windows-msvc").unwrap();
    archive(&repository(), windows, &fake_binary(release.folder.path()), &release.files).unwrap();
    assemble(&repository(), &release.files, &serve(&release.files)).unwrap();
    release
}

#[test]
fn in_a_shell_on_windows_the_installer_installs_the_program_for_windows() {
    let release = with_windows();
    let programs = release.folder.path().join("programs");
    fs::create_dir(&programs).unwrap();
    for system in ["MINGW64_NT-10.0-22631", "MSYS_NT-10.0-22631", "CYGWIN_NT-10.0"] {
        let uname = programs.join("uname");
        fs::write(&uname, format!("#!/bin/sh\necho {system}\n")).unwrap();
        fs::set_permissions(&uname, fs::Permissions::from_mode(0o755)).unwrap();
        let folder = release.folder.path().join(system);
        let mut shell = Command::new("sh");
        shell.arg(release.files.join("install.sh")).env_clear().env("HEADSTART_INSTALL_DIR", &folder);
        let path = std::env::var("PATH").unwrap();
        let output = shell.env("PATH", format!("{}:{path}", programs.display())).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let version = Command::new(folder.join("headstart.exe")).arg("--version").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&version.stdout), "headstart 0.0.0-test\n");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}

/// There is no PowerShell here to run it; the workflow of a release does, before anything is published.
#[test]
fn the_installer_for_powershell_has_the_sum_of_the_archive_for_windows() {
    let release = with_windows();
    let script = fs::read_to_string(release.files.join("install.ps1")).unwrap();
    let sums = fs::read_to_string(release.files.join("SHA256SUMS")).unwrap();
    let windows = sums.lines().find(|line| line.contains("-windows-")).unwrap();
    assert!(script.contains(windows) && !script.contains('@'), "{script}");
}

#[test]
fn on_windows_the_launcher_starts_the_program_for_windows() {
    let release = with_windows();
    let package = "headstart-cli-win32-x64";
    let packed = fs::read_dir(release.files.join("npm")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut packed = packed.filter(|name| name.to_string_lossy().starts_with(package)).collect::<Vec<_>>();
    packed.retain(|name| name.to_string_lossy().ends_with(".tgz"));
    let project = release.folder.path().join("node_modules");
    let to = project.join(package);
    fs::create_dir_all(&to).unwrap();
    let archive = release.files.join("npm").join(packed.pop().expect("it was packed"));
    let unpacked =
        Command::new("tar").arg("-xzf").arg(archive).args(["--strip-components=1", "-C"]).arg(&to).status();
    assert!(unpacked.unwrap().success());
    let launcher = project.join("launcher.js");
    fs::copy(repository().join("release/npm/launcher.js"), &launcher).unwrap();
    let windows = "for (const [name, value] of [['platform', 'win32'], ['arch', 'x64']]) Object.defineProperty(process, name, { value });";
    let start = |arguments: &[&str]| {
        let script = format!("{windows} require({launcher:?});");
        Command::new("node").args(["-e", &script, "launcher"]).args(arguments).output().expect("node starts")
    };
    let started = start(&["--version"]);
    assert_eq!(String::from_utf8_lossy(&started.stdout), "headstart 0.0.0-test\n", "{}", stderr(&started));
    fs::remove_dir_all(to).unwrap();
    let missing = start(&["--version"]);
    assert!(stderr(&missing).contains("there is no binary for win32 x64"), "{}", stderr(&missing));
}

#[test]
fn a_release_has_one_version_everywhere() {
    let version = version::of_workspace(&repository()).unwrap();
    let error = check(&repository(), &format!("v{version}.1")).unwrap_err().to_string();
    assert!(error.contains("and the tag is"), "{error}");
    match check(&repository(), &format!("v{version}")) {
        Ok(found) => assert_eq!(found, version),
        // These may be missing before a version is released.
        Err(error) => {
            let said = error.to_string();
            let is_known =
                ["what is under [Unreleased] belongs there", "`cargo xtask release address URL` writes it"];
            assert!(is_known.iter().any(|known| said.contains(known)), "{error}");
        }
    }
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for url in ["https://example.org/", "ftp://example.org", "https://example.org/$(x)", "https://a b"] {
        let error = assemble(&repository(), folder.path(), url).unwrap_err().to_string();
        assert!(error.contains("is no address of a folder"), "{error}");
    }
    let error = assemble(&repository(), folder.path(), "https://example.org").unwrap_err().to_string();
    assert!(error.contains("holds no archive of version"), "{error}");
    assert!(
        Target::find("riscv64gc-unknown-linux-gnu")
            .unwrap_err()
            .to_string()
            .contains("there are x86_64-unknown-linux-gnu")
    );
    let error =
        archive(&repository(), here(), Path::new("/nonexistent"), folder.path()).unwrap_err().to_string();
    assert!(error.starts_with("/nonexistent: "), "{error}");
}

#[test]
fn the_entry_of_the_registry_is_what_its_checks_want() {
    let folder = tempfile::tempdir().unwrap();
    let files = registry::entry(folder.path(), "1.2.3", Some("https://github.com/a/b")).unwrap();
    let entry: serde_json::Value = serde_json::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
    // The folder has the name of the entry, and the package has the version of the entry.
    assert_eq!(entry["id"].as_str(), files[0].parent().unwrap().file_name().unwrap().to_str());
    assert_eq!(
        (&entry["version"], &entry["repository"]),
        (&"1.2.3".into(), &"https://github.com/a/b".into())
    );
    assert_eq!(entry["distribution"]["npx"]["package"], "headstart-cli@1.2.3");
    assert_eq!(entry["distribution"]["npx"]["args"], serde_json::json!(["acp"]));
    let icon = fs::read_to_string(&files[1]).unwrap();
    assert!(icon.contains("width=\"16\" height=\"16\"") && icon.contains("fill=\"currentColor\""), "{icon}");
    assert_eq!(icon.matches("fill=").count(), 1, "one colour, that of the text around it");
}

#[test]
fn the_formula_has_the_sum_of_each_archive() {
    let release = Release::new();
    let formula = fs::read_to_string(release.files.join("homebrew/headstart.rb")).unwrap();
    let sums = fs::read_to_string(release.files.join("SHA256SUMS")).unwrap();
    let (sum, archive) = sums.trim_end().split_once("  ").unwrap();
    assert!(formula.contains(&format!("/{archive}\"\n      sha256 \"{sum}\"\n")), "{formula}");
    assert!(!formula.contains("homepage") && formula.matches(" url ").count() == 1, "{formula}");
    // With archives for all targets, the formula has one archive for each system and processor.
    let folder = release.folder.path().join("all");
    let archives = TARGETS.map(|target| (target, folder.join(target.triple)));
    fs::create_dir(&folder).unwrap();
    for (target, file) in &archives {
        fs::write(file, target.triple).unwrap();
    }
    let address = Some("https://github.com/a/b");
    let file = homebrew::formula(&folder, "1.2.3", &archives, "https://example.org/f", address).unwrap();
    let formula = fs::read_to_string(file).unwrap();
    assert!(formula.contains("  homepage \"https://github.com/a/b\"\n  version \"1.2.3\"\n"), "{formula}");
    let addresses: Vec<_> = formula.lines().filter_map(|line| line.trim().strip_prefix("url ")).collect();
    let of = |triple: &str| format!("\"https://example.org/f/headstart-1.2.3-{triple}.tar.gz\"");
    let wanted = [
        "aarch64-apple-darwin",
        "x86_64-apple-darwin",
        "aarch64-unknown-linux-musl",
        "x86_64-unknown-linux-musl",
    ];
    assert_eq!(addresses, wanted.map(of));
    for triple in wanted {
        assert!(formula.contains(&archive::sum(&folder.join(triple)).unwrap()), "{triple}");
    }
    assert_eq!(formula.matches(" do\n").count() + 2, formula.matches("end\n").count(), "{formula}");
}

/// Copies those files of the repository that name its address into a temporary folder.
fn copied() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "*.toml", "*.md", "action.yml", "*package.json"]).current_dir(repository());
    let listed = git.output().unwrap();
    for file in String::from_utf8(listed.stdout).unwrap().split_terminator('\0') {
        let to = folder.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(repository().join(file), &to).unwrap();
        // Cargo needs a source file beside each manifest.
        if to.ends_with("Cargo.toml") {
            fs::create_dir_all(to.with_file_name("src")).unwrap();
            fs::write(to.with_file_name("src").join("lib.rs"), "").unwrap();
        }
    }
    folder
}

#[test]
fn one_command_writes_where_the_repository_is() {
    let copy = copied();
    let tag = format!("v{}", version::of_workspace(copy.path()).unwrap());
    let changelog = copy.path().join("CHANGELOG.md");
    fs::write(&changelog, format!("## [{}]\n", &tag[1..])).unwrap();
    let before = address::of(copy.path()).unwrap();
    if before.is_none() {
        let error = check(copy.path(), &tag).unwrap_err().to_string();
        assert!(error.contains("`cargo xtask release address URL` writes it"), "{error}");
    }
    for url in ["https://github.com/one/headstart", "https://github.com/other/head-start"] {
        assert!(!address::set(copy.path(), url).unwrap().is_empty());
        assert_eq!(address::of(copy.path()).unwrap().as_deref(), Some(url));
        assert_eq!(check(copy.path(), &tag).unwrap(), &tag[1..]);
        assert!(address::set(copy.path(), url).unwrap().is_empty(), "a second time changes nothing");
        let readme = fs::read_to_string(copy.path().join("release/install.md")).unwrap();
        assert!(readme.contains(&format!("{url}/releases/latest/download/install.sh")), "{readme}");
    }
    // Cargo reads the address, too, in every crate that is published.
    let mut cargo = Command::new("cargo");
    cargo
        .args(["read-manifest", "--offline", "--manifest-path"])
        .arg(copy.path().join("crates/cli/Cargo.toml"));
    let read = cargo.output().unwrap();
    let read: serde_json::Value =
        serde_json::from_slice(&read.stdout).unwrap_or_else(|_| panic!("{}", stderr(&read)));
    assert_eq!(read["repository"], "https://github.com/other/head-start");
    for package in ["crates/wasm/npm/package.json", "editors/vscode/package.json"] {
        let manifest: serde_json::Value =
            serde_json::from_slice(&fs::read(copy.path().join(package)).unwrap()).unwrap();
        assert_eq!(manifest["repository"]["url"], "git+https://github.com/other/head-start.git");
    }
    for url in [
        "http://github.com/a/b",
        "https://github.com/a/b/",
        "https://github.com/a/b.git",
        "https://github.com/a",
        "https://github.com/a/b c",
    ] {
        let error = address::set(copy.path(), url).unwrap_err().to_string();
        assert!(error.contains("is no address of a repository"), "{error}");
    }
}
