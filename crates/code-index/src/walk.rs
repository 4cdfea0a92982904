//! The files of a project that are indexed.

use headstart_overlay_fs::{EntryKind, Fingerprint, IgnoreRules, Tree, TreeError, WorkspacePath};

use crate::fields::LARGEST_FILE;

/// As many files are indexed; what is more is told.
const MOST_FILES: usize = 200_000;

/// What a project's own file of rules is called.
pub const IGNORE_FILE: &str = ".headstart/ignore";

/// Patterns of files that tell nothing of a project, whatever its `.gitignore` says: what programs wrote, and what is no text.
/// The project's own rules, in [`IGNORE_FILE`], come after them and may bring something back with `!`.
pub const DEFAULT_IGNORED: &str = "\
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

/// The files of a project, in the order of their paths.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Path and fingerprint of each.
    pub files: Vec<(WorkspacePath, Fingerprint)>,
    /// Why some are not among them, for the user.
    pub told: Vec<String>,
}

/// The files below the root of a tree that are indexed: those that neither a `.gitignore`, nor [`DEFAULT_IGNORED`], nor the
/// project's [`IGNORE_FILE`] leaves out, and that `closes` does not. Links are not followed; what is closed is not looked at.
pub async fn project_files(
    tree: &dyn Tree,
    closes: &(dyn Fn(&WorkspacePath) -> bool + Sync),
) -> Result<Files, TreeError> {
    let root = WorkspacePath::root();
    let usual = IgnoreRules::default().with(&root, DEFAULT_IGNORED);
    let usual = match read_rules(tree, closes, &root, IGNORE_FILE).await {
        Some(text) => usual.with(&root, &text),
        None => usual,
    };
    let mut found = Files::default();
    let mut unreadable = 0;
    let mut open = vec![(root, IgnoreRules::default())];
    'folders: while let Some((folder, above)) = open.pop() {
        let entries = match tree.list(&folder).await {
            Ok(entries) => entries,
            Err(error) if folder.is_root() => return Err(error),
            Err(_) => {
                unreadable += 1;
                continue;
            }
        };
        let has_rules = entries.iter().any(|entry| entry.name == b".gitignore");
        let own = if has_rules { read_rules(tree, closes, &folder, ".gitignore").await } else { None };
        let rules = own.map_or(above.clone(), |text| above.with(&folder, &text));
        for entry in entries {
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            let ignored = usual.decide(&path, entry.kind).unwrap_or_else(|| rules.ignores(&path, entry.kind));
            if ignored || entry.name == b".git" || closes(&path) {
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
    }
    if 0 < unreadable {
        found.told.push(format!("files and folders that could not be read: {unreadable}"));
    }
    found.files.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

async fn read_rules(
    tree: &dyn Tree,
    closes: &(dyn Fn(&WorkspacePath) -> bool + Sync),
    folder: &WorkspacePath,
    name: &str,
) -> Option<String> {
    let path = folder.join(name).ok().filter(|path| !closes(path))?;
    // git itself does not follow a link here.
    let metadata = tree.metadata(&path).await.ok()?;
    if metadata.kind != EntryKind::File || LARGEST_FILE < metadata.len {
        return None;
    }
    let bytes = tree.read(&path).await.ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
