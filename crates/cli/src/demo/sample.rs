use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use headstart_machine::error::CliError;
use headstart_providers::Recording;

/// The bundled files of the sample project. Its tests need only bash and the base system, because the demo has to show
/// the same on a machine that has nothing else.
const FILES: [(&str, &str); 6] = [
    ("CHANGELOG.md", include_str!("../../assets/demo/project/CHANGELOG.md")),
    ("README.md", include_str!("../../assets/demo/project/README.md")),
    ("VERSION", include_str!("../../assets/demo/project/VERSION")),
    ("test.sh", include_str!("../../assets/demo/project/test.sh")),
    ("tests/count.sh", include_str!("../../assets/demo/project/tests/count.sh")),
    ("wordcount.sh", include_str!("../../assets/demo/project/wordcount.sh")),
];

/// The recording that takes the place of the model.
pub(super) fn recording() -> Recording {
    Recording::parse(include_str!("../../assets/demo/recording.json"))
        .expect("works because the recording is bundled, and every run of the demo plays it")
}

/// The sample project in a temporary folder, with a git repository. The folder is deleted when this value is dropped.
pub(super) struct SampleProject {
    folder: tempfile::TempDir,
}

impl SampleProject {
    pub(super) fn create() -> Result<Self, CliError> {
        let failed = |error: io::Error| CliError::Demo(error.to_string());
        let folder = tempfile::Builder::new().prefix("headstart-demo-").tempdir().map_err(failed)?;
        // Only Unix is asked, because on Windows no commit runs ahead and any git will do.
        if cfg!(unix) {
            headstart_machine::git::find(folder.path())
                .map_err(|error| CliError::Unavailable(error.to_string()))?;
        }
        let sample = Self { folder };
        sample.fill().map_err(failed)?;
        Ok(sample)
    }

    fn fill(&self) -> io::Result<()> {
        let root = self.root();
        std::fs::create_dir(&root)?;
        for (path, content) in FILES {
            let path = root.join(path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, content)?;
        }
        git(&root, &["init", "--quiet", "--initial-branch=main"])?;
        git(&root, &["config", "user.name", "headstart demo"])?;
        git(&root, &["config", "user.email", "demo@example.com"])?;
        git(&root, &["config", "commit.gpgsign", "false"])?;
        git(&root, &["add", "--all"])?;
        git(&root, &["commit", "--quiet", "--message", "Count words"])?;
        let origin = self.folder.path().join("origin.git");
        git(&root, &["clone", "--quiet", "--bare", ".", &origin.to_string_lossy()])?;
        git(&root, &["remote", "add", "origin", "../origin.git"])?;
        git(&root, &["push", "--quiet", "--set-upstream", "origin", "main"])
    }

    pub(super) fn root(&self) -> PathBuf {
        // The project is a subfolder, so that what the demo keeps beside it is deleted with the folder too.
        self.folder.path().join("project")
    }

    /// A hash of every name, content and mode in the project, including git's own files.
    pub(super) fn hash(&self) -> Result<u64, CliError> {
        let mut hasher = DefaultHasher::new();
        let root = self.root();
        hash_folder(&root, &mut hasher).map_err(CliError::io("read", &root))?;
        Ok(hasher.finish())
    }
}

fn hash_folder(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        entry.file_name().hash(hasher);
        let kind = entry.file_type()?;
        if kind.is_dir() {
            hash_folder(&entry.path(), hasher)?;
        } else if kind.is_symlink() {
            std::fs::read_link(entry.path())?.hash(hasher);
        } else {
            entry.metadata()?.permissions().readonly().hash(hasher);
            std::fs::read(entry.path())?.hash(hasher);
        }
        // Marks the end of an entry, so that different trees cannot give the same sequence.
        u8::MAX.hash(hasher);
    }
    Ok(())
}

fn git(root: &Path, args: &[&str]) -> io::Result<()> {
    let output = Command::new("git")
        .args(args)
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            io::Error::new(error.kind(), format!("cannot run git, which the demo needs: {error}"))
        })?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(io::Error::other(format!("git {} failed: {message}", args.join(" "))))
}
