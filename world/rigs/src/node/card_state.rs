//! The state of a card between runs of the program: the sequence numbers it has accepted, in a file with mode 0600. Read 3GPP TS
//! 33.102 §6.3.3 and Annex C.2 first.
//!
//!   keytoll card 1, IMSI 001010000000001
//!   SEQ under IND 0, 1, … 31, in 11 hexadecimal digits, one a line
//!
//! The file is locked from the first challenge on, for a card is in one device at a time, and always has the same
//! length: each write replaces the whole content.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use keytoll_eap::simaka::card::Memory;
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::sqn::{INDS, Window};
use keytoll_scenario::ScenarioError;
use keytoll_scenario::node::Placed;
use keytoll_trace::listing::sync_folder;

/// The limit on the length of a file.
const LENGTH_MAX: u64 = 1024;

/// A card's file.
#[derive(Debug)]
pub(super) struct CardState {
    path: PathBuf,
    imsi: Imsi,
    held: Mutex<Held>,
}

#[derive(Debug)]
enum Held {
    /// Its content; `None`: there was no file.
    Read(Option<Box<Window>>),
    /// Locked.
    Open(File),
}

impl CardState {
    /// Opens the file of a card; `start` applies if there is no file yet.
    pub(super) fn open(
        path: &Placed<PathBuf>,
        imsi: Imsi,
        start: Window,
    ) -> Result<(Window, Self), ScenarioError> {
        let found = load(&path.value, imsi).map_err(|error| {
            let message = format!("cannot read the card's state in {}: {error}", path.value.display());
            path.error(message, "this file").hint("a card that was reset begins without this file")
        })?;
        let held = Mutex::new(Held::Read(found.clone().map(Box::new)));
        Ok((found.unwrap_or(start), Self { path: path.value.clone(), imsi, held }))
    }

    /// Locks the file, which must be unchanged: another program may have used the card.
    fn lock(&self, read: Option<&Window>) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&self.path)?;
        file.try_lock()?;
        let found = contents(&mut file, self.imsi)?;
        if found.as_ref() != read {
            return Err(io::Error::other("the card was used meanwhile"));
        }
        Ok(file)
    }

    fn write(&self, window: &Window) -> io::Result<()> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Held::Read(read) = &*held {
            let file = self.lock(read.as_deref())?;
            // A new file is durable only with its directory entry: a card that lost its state would accept challenges again.
            let folder = self.path.parent().filter(|folder| *folder != Path::new(""));
            sync_folder(folder.unwrap_or(Path::new(".")))?;
            *held = Held::Open(file);
        }
        let Held::Open(file) = &mut *held else { return Err(io::Error::other("the file is not open")) };
        file.rewind()?;
        file.write_all(text(window, self.imsi).as_bytes())?;
        file.sync_data()
    }
}

impl Memory for CardState {
    fn keep(&self, window: &Window) -> bool {
        self.write(window).is_ok()
    }
}

fn load(path: &Path, imsi: Imsi) -> io::Result<Option<Window>> {
    match File::open(path) {
        Ok(mut file) => contents(&mut file, imsi),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The content of a file; `None` if it is empty, as before the first challenge.
fn contents(file: &mut File, imsi: Imsi) -> io::Result<Option<Window>> {
    let mut found = String::new();
    file.take(LENGTH_MAX + 1).read_to_string(&mut found)?;
    if found.is_empty() {
        return Ok(None);
    }
    let window = parse(&found, imsi).ok_or_else(|| io::Error::other("it is not the state of this card"))?;
    Ok(Some(window))
}

fn head(imsi: Imsi) -> String {
    format!("keytoll card 1, IMSI {imsi}")
}

fn text(window: &Window, imsi: Imsi) -> String {
    let seqs = window.seqs().iter().map(|seq| format!("{seq:011x}\n"));
    std::iter::once(head(imsi) + "\n").chain(seqs).collect()
}

fn parse(text: &str, imsi: Imsi) -> Option<Window> {
    let mut lines = text.strip_suffix('\n')?.split('\n');
    let is_ours = lines.next()? == head(imsi);
    let seq = |line: &str| u64::from_str_radix(line, 16).ok().filter(|_| line.len() == 11);
    let seqs = lines.map(seq).collect::<Option<Vec<_>>>()?;
    let seqs: [u64; INDS] = seqs.try_into().ok()?;
    Window::restored(seqs).filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use keytoll_eap::simaka::sqn::Sqn;

    use super::*;

    fn imsi() -> Imsi {
        Imsi::parse("001010000000001").unwrap()
    }

    /// A path without a file.
    fn fresh(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("keytoll-card-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    fn read(path: &Path) -> io::Result<CardState> {
        let found = load(path, imsi())?;
        Ok(CardState {
            path: path.to_owned(),
            imsi: imsi(),
            held: Mutex::new(Held::Read(found.map(Box::new))),
        })
    }

    fn accepted(sqn: u64) -> Window {
        let mut window = Window::starting_at(Sqn::new(0));
        assert!(window.accept(Sqn::new(sqn)));
        window
    }

    #[test]
    fn state_is_restored_and_the_file_is_private() {
        let path = fresh("kept");
        let card = read(&path).unwrap();
        for sqn in [33, 66, 1 << 30] {
            assert!(card.keep(&accepted(sqn)), "{sqn}");
            assert_eq!(load(&path, imsi()).unwrap(), Some(accepted(sqn)));
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    /// Two programs with one card would each accept the challenges of the other.
    #[test]
    fn a_card_is_in_one_device_at_a_time() {
        let path = fresh("one");
        let (first, second) = (read(&path).unwrap(), read(&path).unwrap());
        assert!(first.keep(&accepted(33)));
        assert!(!second.keep(&accepted(33)), "it is locked");
        drop(first);
        assert!(!second.keep(&accepted(33)), "it is not what was read");
        assert!(read(&path).unwrap().keep(&accepted(66)));
    }

    #[test]
    fn a_file_that_is_no_state_of_this_card_is_refused() {
        let path = fresh("wrong");
        let good = text(&accepted(33), imsi());
        for cut in 1..good.len() {
            std::fs::write(&path, &good[..cut]).unwrap();
            assert!(load(&path, imsi()).is_err(), "{cut} bytes");
        }
        let other = good.replace("001010000000001", "001010000000002");
        for wrong in [other, good.replace('0', "x"), good.replacen("\n0", "\nf", 1), good + "\n"] {
            std::fs::write(&path, wrong).unwrap();
            assert!(load(&path, imsi()).is_err());
        }
    }
}
