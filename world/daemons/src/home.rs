//! A private directory and its network namespaces, and their removal.
//!
//! They are removed in one way, whether we end normally, by Ctrl-C, by a panic or by `kill -9`: by a reaper, a separate shell that
//! waits until the pipe to it closes. Leftovers (after a power failure, or of a killed reaper) are removed by the next [`Home`]:
//! names contain process ID and start time of their creator, and a file in the directory marks it as ours.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, process};

use crate::files;
use crate::place::Place;
use crate::process::start_time;
use crate::run::{Trouble, finish, line, words};

/// The prefix of all names.
const PREFIX: &str = "keytoll-";
/// The file that marks a directory as one to be removed.
const MARKER: &str = ".keytoll-home";
/// Where the kernel has the names of namespaces.
const NAMESPACES: &str = "/run/netns";

/// Waits for the end of its input, then removes the namespaces of home `$1` and, with `$3`, the directory `$2`. Terminating
/// programs may still write there for a moment.
const REAPER: &str = r#"
cat >/dev/null
for namespace in /run/netns/"$1"-*; do
  [ -e "$namespace" ] && ip netns del "${namespace##*/}"
done
[ -z "$3" ] || rm -rf -- "$2" || { sleep 1; rm -rf -- "$2"; }
"#;

/// A private directory with its namespaces.
#[derive(Debug)]
pub struct Home {
    name: String,
    dir: PathBuf,
    reaper: Child,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Home {
    /// Removes leftovers of dead processes, and creates a new home in the directory for temporary files.
    ///
    /// # Errors
    /// When the directory or the reaper cannot be created.
    pub fn new() -> Result<Self, Trouble> {
        Self::with(true)
    }

    /// The same, but the directory is kept for inspection.
    ///
    /// # Errors
    /// When the directory or the reaper cannot be created.
    pub fn kept() -> Result<Self, Trouble> {
        Self::with(false)
    }

    fn with(removes: bool) -> Result<Self, Trouble> {
        sweep();
        let began = start_time(process::id()).unwrap_or_default();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{began}-{count}", process::id());
        Self::at(name, removes)
    }

    /// Names can be guessed, and the directory will contain secrets: it must not exist before.
    fn at(name: String, removes: bool) -> Result<Self, Trouble> {
        let dir = env::temp_dir().join(&name);
        files::new_directory(&dir)?;
        if removes {
            files::write(&dir.join(MARKER), "a directory of keytoll, removed when its process has ended\n")?;
        }
        // From here on everything is removed if the rest fails.
        Ok(Self { reaper: reaper(&name, &dir, removes)?, name, dir })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A directory in it, created if missing.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Trouble> {
        let folder = self.dir.join(name);
        files::directory(&folder)?;
        Ok(folder)
    }

    /// Creates a network namespace with only a loopback interface.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn namespace(&self, name: &str) -> Result<Place, Trouble> {
        let place = self.place(name);
        if let Place::Namespace(name) = &place {
            finish(&mut words(&format!("ip netns add {name}")))?;
        }
        place.up("lo")?;
        Ok(place)
    }

    /// The namespace of this name, which may not exist.
    pub fn place(&self, name: &str) -> Place {
        Place::Namespace(format!("{}-{name}", self.name))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // It waits for the end of its input.
        drop(self.reaper.stdin.take());
        let _ = self.reaper.wait();
    }
}

fn reaper(name: &str, dir: &Path, removes: bool) -> Result<Child, Trouble> {
    let mut command = Command::new("sh");
    command.args(["-c", REAPER, "keytoll-reaper", name]).arg(dir).arg(if removes { "remove" } else { "" });
    // In a process group of its own, so that Ctrl-C does not end it too early.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().map_err(|source| Trouble::Start { command: line(&command), source })
}

/// Checks whether network namespaces can be created here.
///
/// # Errors
/// When they cannot.
pub fn may_make_namespaces() -> Result<(), Trouble> {
    if is_root() {
        return Ok(());
    }
    Err(Trouble::NotAllowed("only root may make network namespaces; run it with `sudo`"))
}

/// Whether we are root.
pub fn is_root() -> bool {
    own_uid() == Some(0)
}

fn own_uid() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|own| own.uid())
}

/// Removes leftovers of dead processes as far as possible.
fn sweep() {
    let ours = own_uid();
    let is_ours = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| Some(found.uid()) == ours);
    for path in left_in(Path::new(NAMESPACES)).into_iter().filter(|path| is_ours(path)) {
        let _ = finish(Command::new("ip").args(["netns", "del"]).arg(path.file_name().unwrap_or_default()));
    }
    let is_marked =
        |path: &PathBuf| fs::symlink_metadata(path.join(MARKER)).is_ok_and(|found| found.is_file());
    for path in left_in(&env::temp_dir()).into_iter().filter(|path| is_ours(path)).filter(is_marked) {
        let _ = fs::remove_dir_all(path);
    }
}

/// The leftovers of dead processes.
fn left_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_name().to_str().and_then(maker).is_some_and(|maker| !maker.lives()))
        .map(|entry| entry.path())
        .collect()
}

/// Whoever made something.
#[derive(Debug, PartialEq, Eq)]
struct Maker {
    id: u32,
    began: u64,
}

impl Maker {
    fn lives(&self) -> bool {
        start_time(self.id) == Some(self.began)
    }
}

/// The creator in the name of a directory or a namespace.
fn maker(name: &str) -> Option<Maker> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let (id, began) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next()?.parse::<u32>().ok()?;
    Some(Maker { id, began })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_home_is_private_and_is_removed() {
        let home = Home::new().unwrap();
        let dir = home.dir().to_owned();
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        files::write(&home.folder("ue").unwrap().join("key"), "secret").unwrap();
        let key = dir.join("ue/key");
        assert_eq!(fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);
        drop(home);
        assert!(!dir.exists());
    }

    #[test]
    fn an_existing_directory_is_no_home() {
        let name = format!("{PREFIX}planted-{}", process::id());
        let planted = env::temp_dir().join(&name);
        files::directory(&planted).unwrap();
        let refused = Home::at(name.clone(), true).unwrap_err().to_string();
        assert!(refused.contains("File exists"), "{refused}");
        assert!(planted.exists(), "nor is it removed");
        let link = env::temp_dir().join(format!("{name}-link"));
        std::os::unix::fs::symlink(&planted, &link).unwrap();
        assert!(Home::at(format!("{name}-link"), true).is_err());
        fs::remove_file(link).unwrap();
        fs::remove_dir(planted).unwrap();
    }

    #[test]
    fn only_leftovers_of_dead_processes_are_removed() {
        let living = Home::new().unwrap();
        let dead = env::temp_dir().join(format!("{PREFIX}{}-{}-0", u32::MAX, 1));
        let strange = env::temp_dir().join(format!("{PREFIX}strange-{}", process::id()));
        // One without a marker is another program's or was to be kept.
        let unmarked = env::temp_dir().join(format!("{PREFIX}{}-{}-1", u32::MAX, process::id()));
        for dir in [&dead, &strange, &unmarked] {
            files::directory(dir).unwrap();
        }
        files::write(&dead.join(MARKER), "").unwrap();
        drop(Home::new().unwrap());
        assert!(living.dir().exists() && strange.exists() && unmarked.exists());
        assert!(!dead.exists());
        fs::remove_dir(strange).unwrap();
        fs::remove_dir(unmarked).unwrap();
    }

    #[test]
    fn names_contain_their_creator() {
        assert_eq!(maker("keytoll-17-4711-0-ue"), Some(Maker { id: 17, began: 4711 }));
        assert_eq!(maker("keytoll-17-4711-0"), Some(Maker { id: 17, began: 4711 }));
        for strange in ["keytoll-17", "keytoll-ue-1-1", "lab-17-1-0", "keytoll-secrets-17"] {
            assert_eq!(maker(strange), None, "{strange}");
        }
    }
}
