use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::{ReleaseError, Target, at, version};
use crate::notices::{Compiled, FILE, notices};

/// The files of the repository that are packed beside the binary.
const EXTRA_FILES: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// The most bytes that a binary may have. Some 41 MB are the parsers of fourteen languages, a database, the syntaxes by
/// which code is coloured, and the protocols; what would add a tenth is to be noticed before it is released.
const MAX_BINARY_BYTES: usize = 45_000_000;

/// Packs a binary for a target into an archive in `folder`. Returns the archive. The same files always give the same
/// bytes.
pub(crate) fn archive(
    repository: &Path,
    target: Target,
    binary: &Path,
    folder: &Path,
) -> Result<PathBuf, ReleaseError> {
    let version = version::of_workspace(repository)?;
    let name = target.archive_name(&version);
    let archive = folder.join(&name);
    let program = at(binary, std::fs::read(binary))?;
    if MAX_BINARY_BYTES < program.len() {
        let (path, bytes) = (binary.to_owned(), program.len());
        return Err(ReleaseError::Size { path, bytes, most: MAX_BINARY_BYTES });
    }
    let mut files = vec![(licences(repository, target)?.into_bytes(), FILE, 0o644)];
    for name in EXTRA_FILES {
        let path = repository.join(name);
        files.push((at(&path, std::fs::read(&path))?, name, 0o644));
    }
    files.push((program, target.binary_name(), 0o755));
    at(folder, std::fs::create_dir_all(folder))?;
    let file = at(&archive, File::create(&archive))?;
    let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::best()));
    let top = name.trim_end_matches(".tar.gz");
    for (content, name, mode) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(mode);
        header.set_entry_type(tar::EntryType::Regular);
        at(&archive, tar.append_data(&mut header, format!("{top}/{name}"), content.as_slice()))?;
    }
    let file = at(&archive, tar.into_inner().and_then(GzEncoder::finish))?;
    at(&archive, file.sync_all())?;
    let sum = sum(&archive)?;
    let beside = folder.join(format!("{name}.sha256"));
    let mut file = at(&beside, File::create(&beside))?;
    at(&beside, writeln!(file, "{sum}  {name}"))?;
    Ok(archive)
}

/// The licences of everything that is compiled into the binary for a target.
pub(super) fn licences(repository: &Path, target: Target) -> Result<String, ReleaseError> {
    let binary = Compiled { package: "headstart", triple: target.triple, options: &[] };
    let mut text = notices(repository, binary)?;
    text.push_str("\nThe syntaxes by which code is coloured:\n\n");
    text.push_str(&two_face::acknowledgement::listing().to_md());
    Ok(text)
}

/// A file's SHA-256, in hexadecimal.
pub(super) fn sum(path: &Path) -> Result<String, ReleaseError> {
    let content = at(path, std::fs::read(path))?;
    let digest = Sha256::digest(&content);
    Ok(digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}
