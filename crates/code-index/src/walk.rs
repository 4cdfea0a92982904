//! Finds the files of a project that are indexed.

use std::collections::HashMap;
use std::ops::ControlFlow;

use headstart_overlay_fs::{EntryKind, Fingerprint, IgnoreRules, Tree, TreeError, WorkspacePath};

use crate::fields::LARGEST_FILE;

/// The most files that are indexed. The user is told if there are more.
const MOST_FILES: usize = 200_000;

/// The file with a project's own rules.
pub(crate) const IGNORE_FILE: &str = ".headstart/ignore";

/// Patterns of files that say nothing about a project, whatever its `.gitignore` says: generated files, and files
/// that are not text. The project's own rules, in [`IGNORE_FILE`], come after these and can include files again with
/// `!`.
pub(crate) const DEFAULT_IGNORED: &str = "\
node_modules/\nbower_components/\njspm_packages/\n.pnpm-store/\n.yarn/\nvendor/bundle/\n.bundle/\n\
__pycache__/\n.venv/\nvenv/\n.tox/\n.nox/\n.mypy_cache/\n.pytest_cache/\n.ruff_cache/\n*.egg-info/\nsite-packages/\n\
target/debug/\ntarget/release/\ndist/\n.next/\n.nuxt/\n.svelte-kit/\n.turbo/\n.parcel-cache/\n.cache/\n.gradle/\n\
.idea/\n.vscode-test/\n.vs/\n.terraform/\nDerivedData/\nPods/\ncoverage/\n.nyc_output/\n\
.git/\n.hg/\n.svn/\nCVS/\n.jj/\n\
package-lock.json\nnpm-shrinkwrap.json\nyarn.lock\npnpm-lock.yaml\nbun.lock\nbun.lockb\nCargo.lock\npoetry.lock\nuv.lock\n\
Pipfile.lock\nGemfile.lock\ncomposer.lock\ngo.sum\nflake.lock\nmix.lock\npubspec.lock\nPodfile.lock\n\
*.min.js\n*.min.css\n*.map\n*.pyc\n*.pyo\n*.class\n*.o\n*.obj\n*.a\n*.lib\n*.so\n*.dylib\n*.dll\n*.exe\n*.wasm\n*.pdb\n\
*.png\n*.jpg\n*.jpeg\n*.gif\n*.bmp\n*.ico\n*.icns\n*.webp\n*.avif\n*.tif\n*.tiff\n*.psd\n*.heic\n\
*.mp3\n*.mp4\n*.wav\n*.ogg\n*.flac\n*.webm\n*.mov\n*.avi\n*.mkv\n\
*.zip\n*.gz\n*.tgz\n*.bz2\n*.xz\n*.zst\n*.7z\n*.rar\n*.tar\n*.jar\n*.war\n*.nupkg\n*.whl\n\
*.pdf\n*.doc\n*.docx\n*.xls\n*.xlsx\n*.ppt\n*.pptx\n\
*.ttf\n*.otf\n*.woff\n*.woff2\n*.eot\n*.db\n*.sqlite\n*.sqlite3\n*.parquet\n*.onnx\n*.safetensors\n*.bin\n*.dat\n\
.DS_Store\nThumbs.db\n";

/// The files of a project, sorted by path.
#[derive(Debug, Clone, Default)]
pub struct ProjectFiles {
    /// The path and fingerprint of each.
    pub files: Vec<(WorkspacePath, Fingerprint)>,
    /// The folders that were searched, for a caller that watches them for new files.
    pub folders: Vec<WorkspacePath>,
    /// Why some files are missing, in words for the user.
    pub told: Vec<String>,
    /// Whether the walk was completed.
    pub is_whole: bool,
}

/// After this many files of one folder the walk asks again whether to go on.
const ASKED_AFTER: usize = 256;

/// The files below the root of a tree that are indexed: those that neither a `.gitignore`, nor the built-in list of
/// files that say nothing about a project (`node_modules/`, `target/debug/`, …), nor the project's `.headstart/ignore`
/// ignores, and that `closes` does not close. Links are not followed; closed paths are not looked at.
pub async fn project_files(
    tree: &dyn Tree,
    closes: &(dyn Fn(&WorkspacePath) -> bool + Sync),
) -> Result<ProjectFiles, TreeError> {
    walk(tree, closes, &mut |_| ControlFlow::Continue(())).await
}

/// As [`project_files`], as long as `keep_going` permits. It is asked with the number of files found so far, because
/// walking a large project, or one over a network, takes seconds.
pub(crate) async fn walk(
    tree: &dyn Tree,
    closes: &(dyn Fn(&WorkspacePath) -> bool + Sync),
    keep_going: &mut (dyn FnMut(u64) -> ControlFlow<()> + Send),
) -> Result<ProjectFiles, TreeError> {
    let project = ProjectRules::of(tree, closes).await;
    let mut found = ProjectFiles { is_whole: true, ..ProjectFiles::default() };
    let mut unreadable = 0;
    let mut open = vec![(WorkspacePath::root(), IgnoreRules::default())];
    'folders: while let Some((folder, above)) = open.pop() {
        let entries = match tree.list(&folder).await {
            Ok(entries) => entries,
            Err(error) if folder.is_root() => return Err(error),
            Err(_) => {
                unreadable += 1;
                continue;
            }
        };
        let has_rules = entries.iter().any(|entry| entry.name == GITIGNORE);
        let rules = if has_rules { project.enter(&folder, &above).await } else { above };
        for (number, entry) in entries.into_iter().enumerate() {
            if number % ASKED_AFTER == 0 && keep_going(found.files.len() as u64).is_break() {
                found.is_whole = false;
                break 'folders;
            }
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            if project.leaves_out(&path, entry.kind, &rules) {
                continue;
            }
            match entry.kind {
                EntryKind::Directory => open.push((path, rules.clone())),
                EntryKind::File if found.files.len() == MOST_FILES => {
                    found.told.push(format!("only the first {MOST_FILES} files are indexed"));
                    break 'folders;
                }
                EntryKind::File => match tree.metadata(&path).await {
                    Ok(metadata) => found.files.push((path, metadata.fingerprint)),
                    Err(_) => unreadable += 1,
                },
                EntryKind::Symlink | EntryKind::Other => {}
            }
        }
        found.folders.push(folder);
    }
    if 0 < unreadable {
        found.told.push(format!("files and folders that could not be read: {unreadable}"));
    }
    found.files.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

const GITIGNORE: &[u8] = b".gitignore";

/// Whether a change of this file changes which files are indexed.
pub fn is_rule_file(path: &WorkspacePath) -> bool {
    path.file_name() == Some(GITIGNORE) || path.as_bytes() == IGNORE_FILE.as_bytes()
}

/// Answers for single paths of a tree whether they are indexed: by the rules of [`project_files`], without walking
/// the tree.
pub(crate) struct ProjectRules<'a> {
    tree: &'a dyn Tree,
    closes: &'a (dyn Fn(&WorkspacePath) -> bool + Sync),
    usual: IgnoreRules,
    /// The rules in a folder that was asked about; `None` if nothing in it is indexed.
    folders: HashMap<WorkspacePath, Option<IgnoreRules>>,
}

impl<'a> ProjectRules<'a> {
    /// The rules of a tree, valid as long as it does not change.
    pub(crate) async fn of(tree: &'a dyn Tree, closes: &'a (dyn Fn(&WorkspacePath) -> bool + Sync)) -> Self {
        let root = WorkspacePath::root();
        let usual = IgnoreRules::default().with(&root, DEFAULT_IGNORED);
        let mut rules = Self { tree, closes, usual, folders: HashMap::new() };
        if let Some(text) = rules.read(&root, IGNORE_FILE).await {
            rules.usual = rules.usual.with(&root, &text);
        }
        rules
    }

    /// Whether a file at this path is indexed.
    pub(crate) async fn includes(&mut self, path: &WorkspacePath) -> bool {
        let Some(folder) = path.parent() else { return false };
        let Some(rules) = self.inside(&folder).await else { return false };
        !self.leaves_out(path, EntryKind::File, &rules)
            && self.tree.metadata(path).await.is_ok_and(|metadata| metadata.kind == EntryKind::File)
    }

    /// The rules in a folder; `None` if nothing in it is indexed.
    async fn inside(&mut self, folder: &WorkspacePath) -> Option<IgnoreRules> {
        let mut above: Option<IgnoreRules> = None;
        let mut current = WorkspacePath::root();
        let mut names = folder.names();
        loop {
            let known = self.folders.get(&current).cloned();
            let rules =
                if let Some(known) = known { known } else { self.look(&current, above.as_ref()).await };
            self.folders.insert(current.clone(), rules.clone());
            above = Some(rules?);
            match names.next() {
                Some(name) => current = current.join_bytes(name).ok()?,
                None => return above,
            }
        }
    }

    async fn look(&self, folder: &WorkspacePath, above: Option<&IgnoreRules>) -> Option<IgnoreRules> {
        let Some(above) = above else { return Some(self.enter(folder, &IgnoreRules::default()).await) };
        if self.leaves_out(folder, EntryKind::Directory, above) {
            return None;
        }
        let metadata = self.tree.metadata(folder).await.ok()?;
        (metadata.kind == EntryKind::Directory).then_some(())?;
        Some(self.enter(folder, above).await)
    }

    fn leaves_out(&self, path: &WorkspacePath, kind: EntryKind, rules: &IgnoreRules) -> bool {
        self.usual.decide(path, kind).unwrap_or_else(|| rules.ignores(path, kind))
            || path.file_name() == Some(b".git")
            || (self.closes)(path)
    }

    /// The rules in a folder, with those of its own file.
    async fn enter(&self, folder: &WorkspacePath, above: &IgnoreRules) -> IgnoreRules {
        match self.read(folder, ".gitignore").await {
            Some(text) => above.with(folder, &text),
            None => above.clone(),
        }
    }

    async fn read(&self, folder: &WorkspacePath, name: &str) -> Option<String> {
        let path = folder.join(name).ok().filter(|path| !(self.closes)(path))?;
        // Git itself does not follow a link here.
        let metadata = self.tree.metadata(&path).await.ok()?;
        if metadata.kind != EntryKind::File || LARGEST_FILE < metadata.len {
            return None;
        }
        let bytes = self.tree.read(&path).await.ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}
