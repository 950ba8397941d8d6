//! Passes the commit of the sources to the program, if they are in a repository of their own: a tarball has none, and not every
//! machine has git. Only this crate is rebuilt when the commit changes.
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sources of the program besides its crates.
const FILES: [&str; 4] = ["Cargo.toml", "Cargo.lock", "scenarios", "criteria"];

/// The folders of its crates.
const CRATES: [&str; 5] = ["apps", "base", "protocols", "results", "world"];

/// The parts of a crate that are in the program; tests are not.
const PARTS: [&str; 3] = ["Cargo.toml", "build.rs", "src"];

fn main() {
    let crate_root = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is");
    let root = Path::new(&crate_root).join("../..");
    let sources = sources(&root);
    for source in &sources {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    println!("cargo::rustc-env=KEYTOLL_BUILD={}", profile());
    let repository = Repository(root);
    if let Some(commit) = repository.commit(&sources) {
        println!("cargo::rustc-env=KEYTOLL_COMMIT={commit}");
        for file in repository.heads() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
}

/// The profile as `--profile` names it, and its folder: `release`, `dist`, or `debug` for `dev`. Cargo's variable PROFILE only has
/// `release` or `debug`, whichever the profile inherits. OUT_DIR is `…/PROFILE/build/keytoll-HASH/out`.
fn profile() -> String {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    let folder =
        out.ancestors().nth(3).and_then(Path::file_name).expect("OUT_DIR is in the profile's folder");
    folder.to_string_lossy().into_owned()
}

/// All sources of the program, relative to the root. Only a change in these makes a commit `-dirty`.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut sources: Vec<PathBuf> = FILES.map(PathBuf::from).to_vec();
    for group in CRATES {
        let entries = std::fs::read_dir(root.join(group)).into_iter().flatten().flatten();
        let of_crate = |name| PARTS.map(|part| Path::new(group).join(&name).join(part));
        sources.extend(entries.flat_map(|entry| of_crate(entry.file_name())));
    }
    sources.retain(|source| root.join(source).exists());
    sources.sort();
    sources
}

/// The root directory of a repository.
struct Repository(PathBuf);

impl Repository {
    /// The commit, with the suffix `-dirty` if a source is modified. `None` if the repository around us is another project's.
    fn commit(&self, sources: &[PathBuf]) -> Option<String> {
        let root = PathBuf::from(self.git(&["rev-parse", "--show-toplevel"])?);
        let is_ours = root.canonicalize().ok()? == self.0.canonicalize().ok()?;
        let commit = self.git(&["rev-parse", "HEAD"]).filter(|_| is_ours)?;
        let mut status = vec!["status", "--porcelain", "--untracked-files=no", "--"];
        status.extend(sources.iter().filter_map(|source| source.to_str()));
        let is_clean = self.git(&status)?.is_empty();
        Some(if is_clean { commit } else { format!("{commit}-dirty") })
    }

    /// The files that change when another commit is checked out: HEAD, which names a branch, and the branch, which is a file or a
    /// line in another. For a missing file cargo would rebuild every time; so its future folder is watched.
    fn heads(&self) -> Vec<PathBuf> {
        let path = |name: &str| Some(self.0.join(self.git(&["rev-parse", "--git-path", name])?));
        let branch = self.git(&["symbolic-ref", "--quiet", "HEAD"]).and_then(|branch| path(&branch));
        let branch = branch.map(|file| if file.exists() { file } else { file.with_file_name("") });
        let heads = [path("HEAD"), path("packed-refs"), branch];
        heads.into_iter().flatten().filter(|path| path.exists()).collect()
    }

    /// Output of git here, even if a hook of another repository called us. Git must not write: its index would change.
    fn git(&self, arguments: &[&str]) -> Option<String> {
        let mut git = Command::new("git");
        git.arg("--no-optional-locks").args(arguments).current_dir(&self.0);
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(variable);
        }
        let output = git.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    }
}
