//! What is said of captures: where they are, how large, and how Wireshark opens them.

use std::path::Path;

use keytoll_lab::Taken;
use keytoll_live::Captured;
use keytoll_scenario::plan::CryptoMode;

/// Of the captures of a run.
pub(crate) fn note_of_run(taken: &Taken, directory: &Path, crypto: CryptoMode) -> String {
    let Taken { files, packets, bytes, unreadable } = taken;
    let Some(first) = files.first() else { return "nothing was captured\n".to_owned() };
    let opened = match crypto {
        CryptoMode::Null | CryptoMode::Table => {
            format!("`wireshark {}`; {} crypto leaves nothing to decrypt", first.display(), crypto.name())
        }
        CryptoMode::Real | CryptoMode::OpenSsl => decrypted(first, unreadable.iter()),
    };
    let (files, kilobytes, directory) = (files.len(), bytes.div_ceil(1000), directory.display());
    format!("{files} captures in {directory}: {packets} packets, {kilobytes} kB; open one with {opened}\n")
}

/// Of the capture of a live node.
pub(crate) fn note_of_node(captured: &Captured, path: &Path) -> String {
    let opened = decrypted(path, captured.unreadable.iter());
    format!("{} datagrams in {}; open it with {opened}\n", captured.datagrams, path.display())
}

/// How to see inside, and what stays closed.
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
    fn one_sentence_says_how_to_open_them() {
        let files = ["runs/x/capture/000.pcapng", "runs/x/capture/001.pcapng"].map(PathBuf::from).into();
        let taken = Taken { files, packets: 30, bytes: 10_001, ..Taken::default() };
        assert_eq!(
            note_of_run(&taken, Path::new("runs/x/capture"), CryptoMode::Real),
            "2 captures in runs/x/capture: 30 packets, 11 kB; open one with \
             `WIRESHARK_CONFIG_DIR=runs/x/capture/000.keys wireshark runs/x/capture/000.pcapng`\n"
        );
    }

    #[test]
    fn what_stays_closed_is_said() {
        let captured = Captured { datagrams: 8, unreadable: vec!["IKE with chacha20poly1305".into()] };
        let note = note_of_node(&captured, Path::new("gw.pcapng"));
        assert!(
            note.ends_with("wireshark gw.pcapng`; Wireshark 4.0 cannot decrypt IKE with chacha20poly1305\n")
        );
    }
}
