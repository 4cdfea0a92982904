//! Finds out by trying which tier this system supports.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;

use super::copied::Listing;
use super::refused;
use super::view::View;
use crate::{Against, Options, ShadowError, Support, Tier};

/// Whether this system supports a view of this workspace. Tries each tier from [`Options::tier`] on until one works.
/// For [`Tier::Clone`] the folder of [`Options::build`] is tried, and left empty.
pub fn support(options: &Options) -> Support {
    let mut against: Vec<Against> = Vec::new();
    for tier in Tier::ALL.into_iter().filter(|tier| options.tier <= *tier) {
        match try_out(&Options { tier, ..options.clone() }) {
            Ok(()) => return Support::Views { tier, against, notes: notes(tier) },
            Err(error) => {
                let is_of_overlay = is_of_overlay(&error);
                against.push(Against { tier, why: error.to_string() });
                // Any other refusal concerns a restriction that a copy needs too.
                if tier == Tier::Kernel && !is_of_overlay {
                    break;
                }
            }
        }
    }
    let whys: Vec<_> = match against.as_slice() {
        [one] => vec![one.why.clone()],
        several => several.iter().map(|Against { tier, why }| format!("{tier}: {why}")).collect(),
    };
    Support::None { why: whys.join("; ") }
}

fn notes(tier: Tier) -> Vec<String> {
    let mut notes = Vec::new();
    if rustix::process::getuid().is_root() {
        notes.push(
            "as uid 0 it is weaker than for another user: before Linux 6.15 processes are only counted"
                .to_owned(),
        );
    }
    if tier.copies() {
        notes.push("each view begins with a copy of the workspace: up to 20,000 files, and the folders of tools are read-only".to_owned());
    }
    if tier == Tier::Copy {
        notes.push("what git ignores is not copied, so build output begins empty in each view".to_owned());
    }
    notes
}

/// Tries everything except the copy, of which only one file is tried.
fn try_out(options: &Options) -> Result<(), ShadowError> {
    let (view, listing) = View::start_empty(options, None)?;
    view.end();
    if options.tier == Tier::Clone
        && let (Some(listing), Some(build)) = (listing, &options.build)
    {
        let cloned = try_clone(options, &listing, &build.folder);
        super::remove_folder(&build.folder.join(super::written::CLONE)).map_err(|error| {
            ShadowError::Refused(refused("unlink", build.folder.as_os_str().as_bytes(), error))
        })?;
        return cloned;
    }
    Ok(())
}

fn try_clone(options: &Options, listing: &Listing, room: &std::path::Path) -> Result<(), ShadowError> {
    let Some(path) = listing.any_file() else { return Ok(()) };
    let from = options.workspace.join(std::ffi::OsStr::from_bytes(path.as_bytes()));
    let to = room.join(super::written::CLONE).join("tried");
    let failed = |error: std::io::Error| {
        ShadowError::Refused(refused("ioctl", "FICLONE of a file of the workspace", error))
    };
    let (source, target) = (File::open(&from).map_err(failed)?, File::create_new(&to).map_err(failed)?);
    let cloned = rustix::fs::ioctl_ficlone(&target, &source).map_err(|error| failed(error.into()));
    fs::remove_file(&to).map_err(failed)?;
    cloned
}

/// Whether the overlay was refused, and not one of the restrictions.
fn is_of_overlay(error: &ShadowError) -> bool {
    matches!(error, ShadowError::Refused(refusal) if refusal.about.starts_with("overlay"))
}
