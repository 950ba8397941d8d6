//! Messages about captures: their location, their size, and how to decrypt them in Wireshark.

use std::path::{Path, PathBuf};
use std::{fs, io};

use keytoll_capture::keys;
use keytoll_lab::Taken;
use keytoll_live::{Capture, Captured, Clock};
use keytoll_rigs::FAMILIES;
use keytoll_scenario::plan::CryptoMode;
use keytoll_trace::output::rename_new;
use miette::{Report, miette};

use crate::outputs::{CAPTURE, check_replaceable};
use crate::screen::{self, Usage};

/// The message about the captures of a run, which are now in this directory.
pub(crate) fn note_of_run(taken: &Taken, directory: &Path, crypto: CryptoMode) -> String {
    let Taken { files, packets, bytes, unreadable } = taken;
    let Some(first) = files.first().and_then(|file| file.file_name()) else {
        return "nothing was captured\n".to_owned();
    };
    let first = directory.join(first);
    let opened = match crypto {
        CryptoMode::Null | CryptoMode::Table => {
            format!("`wireshark {}`; {} crypto leaves nothing to decrypt", first.display(), crypto.name())
        }
        CryptoMode::Real | CryptoMode::OpenSsl => decrypted(&first, unreadable.iter()),
    };
    let (files, kilobytes, directory) = (files.len(), bytes.div_ceil(1000), directory.display());
    format!("{files} captures in {directory}: {packets} packets, {kilobytes} kB; open one with {opened}\n")
}

/// Starts the capture of a live node at an interface of this name. An earlier one remains under another name.
pub(crate) fn begin(path: &Path, clock: &Clock, interface: &str, comment: &str) -> Result<Capture, Report> {
    check_replaceable(path, &CAPTURE)?;
    if path.extension() == Some("keys".as_ref()) {
        let message = format!("`{}` is the name of the directory for the keys of a capture", path.display());
        return Err(Usage::hint(message, "name the capture like `gw.pcapng`").into());
    }
    let cannot = |error: io::Error| miette!("cannot write the capture `{}`: {error}", path.display());
    if let Some(earlier) = set_aside(path).map_err(cannot)? {
        screen::note(&format!("the earlier capture is kept in {}\n", earlier.display()));
    }
    Capture::create(FAMILIES, path, clock, interface, comment).map_err(cannot)
}

/// Ends the capture of a live node, and says where it is.
pub(crate) fn end(capture: &Capture, path: &Path) -> Result<(), Report> {
    let captured = capture.finish();
    let captured =
        captured.map_err(|error| miette!("cannot write the capture `{}`: {error}", path.display()))?;
    screen::note(&note_of_node(&captured, path));
    Ok(())
}

/// Of the capture of a live node.
fn note_of_node(captured: &Captured, path: &Path) -> String {
    let opened = decrypted(path, captured.unreadable.iter());
    format!("{} datagrams in {}; open it with {opened}\n", captured.datagrams, path.display())
}

/// Renames an earlier capture of this name and its keys: `gw.pcapng` becomes `gw.1.pcapng`. Returns the new path, or `None` if
/// there is no earlier one.
fn set_aside(path: &Path) -> io::Result<Option<PathBuf>> {
    let keys = path.with_extension("keys");
    let has_packets = fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
    let has_keys = fs::symlink_metadata(&keys).is_ok();
    if !has_packets && !has_keys {
        return Ok(None);
    }
    let (aside, keys_aside) = unused(path, &keys);
    if has_packets {
        rename_new(path, &aside)?;
    }
    if has_keys {
        rename_new(&keys, &keys_aside)?;
        // Should this fail, the profile still decrypts everything but TLS.
        let _ = std::path::absolute(&keys_aside).and_then(|path| keys::relocate(FAMILIES, &path, &path));
    }
    Ok(Some(if has_packets { aside } else { keys_aside }))
}

/// Names with the first number that neither has.
fn unused(path: &Path, keys: &Path) -> (PathBuf, PathBuf) {
    let numbered = |path: &Path, number: u64| {
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(format!(".{number}"));
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name)
    };
    let both = (1..).map(|number| (numbered(path, number), numbered(keys, number)));
    let is_free = |path: &Path| fs::symlink_metadata(path).is_err();
    let mut free = both.filter(|(capture, keys)| is_free(capture) && is_free(keys));
    free.next().expect("there are more numbers than files")
}

/// How to decrypt them, and what cannot be decrypted.
fn decrypted<'a>(capture: &Path, unreadable: impl Iterator<Item = &'a String>) -> String {
    let (keys, capture) = (capture.with_extension("keys"), capture.display());
    let how = format!("`WIRESHARK_CONFIG_DIR={} wireshark {capture}`", keys.display());
    let closed: Vec<&str> = unreadable.map(String::as_str).collect();
    if closed.is_empty() {
        return how;
    }
    format!("{how}; Wireshark 4.0 cannot decrypt {}", closed.join(", "))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn one_sentence_says_how_to_decrypt_them() {
        let files = ["runs/x.1.unfinished/capture/000.pcapng", "runs/x.1.unfinished/capture/001.pcapng"]
            .map(PathBuf::from)
            .into();
        let taken = Taken { files, packets: 30, bytes: 10_001, ..Taken::default() };
        assert_eq!(
            note_of_run(&taken, Path::new("runs/x/capture"), CryptoMode::Real),
            "2 captures in runs/x/capture: 30 packets, 11 kB; open one with \
             `WIRESHARK_CONFIG_DIR=runs/x/capture/000.keys wireshark runs/x/capture/000.pcapng`\n"
        );
    }

    #[test]
    fn an_earlier_capture_gets_a_number_and_nothing_of_it_is_lost() {
        let scratch = std::env::temp_dir().join(format!("keytoll-aside-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        let path = scratch.join("gw.pcapng");
        assert_eq!(set_aside(&path).unwrap(), None);
        for (number, packets) in [(1, "first"), (2, "second")] {
            fs::write(&path, packets).unwrap();
            fs::create_dir(scratch.join("gw.keys")).unwrap();
            fs::write(scratch.join("gw.keys/esp_sa"), packets).unwrap();
            let aside = scratch.join(format!("gw.{number}.pcapng"));
            assert_eq!(set_aside(&path).unwrap().as_ref(), Some(&aside));
            assert_eq!(fs::read_to_string(aside).unwrap(), packets);
        }
        assert_eq!(fs::read_to_string(scratch.join("gw.1.keys/esp_sa")).unwrap(), "first");
        assert!(!path.exists() && !scratch.join("gw.keys").exists());
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn undecryptable_packets_are_mentioned() {
        let captured = Captured { datagrams: 8, unreadable: vec!["IKE with chacha20poly1305".into()] };
        let note = note_of_node(&captured, Path::new("gw.pcapng"));
        assert!(
            note.ends_with("wireshark gw.pcapng`; Wireshark 4.0 cannot decrypt IKE with chacha20poly1305\n")
        );
    }
}
