//! The tables on disk: their contents, their modes, and what is left out.

use keytoll_rigs::FAMILIES;
use keytoll_trace::revealed::{Algorithms, Key, Sealing};

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// A directory of its own for each test, removed when it ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-keys-{}-{name}", std::process::id()));
        Self(path)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sealing(encryption: &[u8], integrity: &[u8]) -> Sealing {
    Sealing { encryption_key: Key::from(encryption), integrity_key: Key::from(integrity) }
}

fn ike(encryption: &'static str, integrity: Option<&'static str>) -> Revealed {
    let mac = |byte| if integrity.is_some() { vec![byte; 2] } else { vec![] };
    Revealed::IkeSa {
        spi_i: 0x10,
        spi_r: 0xfedc_ba98_7654_3210,
        algorithms: Algorithms { encryption, integrity },
        initiator: sealing(&[1, 0xab], &mac(3)),
        responder: sealing(&[2, 0xcd], &mac(4)),
    }
}

fn esp(spi: u32, encryption: &'static str, integrity: Option<&'static str>) -> Revealed {
    Revealed::ChildSa {
        spi,
        source: "2001:db8::2".parse().unwrap(),
        destination: "2001:db8::1".parse().unwrap(),
        algorithms: Algorithms { encryption, integrity },
        keys: sealing(&[9, 8], if integrity.is_some() { &[7] } else { &[] }),
    }
}

fn tables(scratch: &Scratch, revealed: &[Revealed]) -> KeyTables {
    let mut tables = KeyTables::create(FAMILIES, &scratch.0).unwrap();
    revealed.iter().for_each(|revealed| tables.reveal(revealed).unwrap());
    tables
}

#[test]
fn lines_are_as_wireshark_writes_them() {
    let scratch = Scratch::new("lines");
    let secret = Revealed::TlsSecret {
        label: "CLIENT_RANDOM".into(),
        client_random: [5; 32],
        secret: Key::from(&[6; 3][..]),
    };
    tables(&scratch, &[ike("aes128", Some("sha256")), esp(0xabc, "aes256gcm16", None), secret]);
    assert_eq!(
        scratch.read("ikev2_decryption_table"),
        "0000000000000010,fedcba9876543210,01ab,02cd,\"AES-CBC-128 [RFC3602]\",0303,0404,\"HMAC_SHA2_256_128 [RFC4868]\"\n"
    );
    assert_eq!(
        scratch.read("esp_sa"),
        "\"IPv6\",\"2001:db8::2\",\"2001:db8::1\",\"0x00000abc\",\"AES-GCM with 16 octet ICV [RFC4106]\",\"0x0908\",\"NULL\",\"\"\n"
    );
    assert_eq!(scratch.read("tls.keys"), format!("CLIENT_RANDOM {} 060606\n", "05".repeat(32)));
    assert_eq!(scratch.read("ikev1_decryption_table"), "");
}

#[test]
fn a_key_that_both_ends_reveal_is_written_once() {
    let scratch = Scratch::new("once");
    let (first, second) = (esp(1, "aes128", Some("sha1")), esp(2, "aes128", Some("sha1")));
    tables(&scratch, &[first.clone(), second.clone(), first, second]);
    assert_eq!(scratch.read("esp_sa").lines().count(), 2);
}

#[test]
fn the_memory_of_keys_is_limited() {
    let scratch = Scratch::new("limit");
    let mut tables = KeyTables::create(FAMILIES, &scratch.0).unwrap();
    (0..3000).for_each(|spi| tables.reveal(&esp(spi, "aes128", Some("sha1"))).unwrap());
    assert_eq!(tables.remembered.len(), REMEMBERED_MAX);
}

#[test]
fn algorithms_that_wireshark_cannot_decrypt_are_reported_and_left_out() {
    let scratch = Scratch::new("unreadable");
    let tables = tables(
        &scratch,
        &[ike("chacha20poly1305", None), esp(1, "aes128ccm16", None), esp(2, "aes128", Some("aesxcbc"))],
    );
    let unreadable: Vec<&str> = tables.unreadable().collect();
    assert_eq!(unreadable, ["ESP with aes128ccm16", "IKE with chacha20poly1305"]);
    assert_eq!(scratch.read("ikev2_decryption_table"), "");
    assert!(scratch.read("esp_sa").contains("ANY 96 bit"));
}

#[test]
fn only_the_owner_may_read_them() {
    let scratch = Scratch::new("mode");
    fs::create_dir_all(&scratch.0).unwrap();
    fs::write(scratch.0.join("tls.keys"), "older, and readable by all").unwrap();
    tables(&scratch, &[]).share(b"testing123").unwrap();
    for entry in fs::read_dir(&scratch.0).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
    }
    assert_eq!(scratch.read("tls.keys"), "");
    assert!(scratch.read("preferences").contains("radius.shared_secret: testing123\n"));
}

#[test]
fn a_secret_that_would_break_the_preferences_is_left_out() {
    let scratch = Scratch::new("secret");
    let mut tables = tables(&scratch, &[]);
    for secret in [&b"a\nb: c"[..], b" a", b"", b"\xff"] {
        tables.share(secret).unwrap();
        assert!(!scratch.read("preferences").contains("radius"), "{secret:?}");
    }
    assert_eq!(tables.unreadable().count(), 1);
}

/// A profile of an earlier run, possibly prepared by an attacker.
#[test]
fn a_profile_that_is_or_contains_a_link_is_not_updated() {
    let scratch = Scratch::new("relocate");
    let at = |name: &str| scratch.0.join(name);
    let preferences = |name: &str| at(name).join("preferences");
    fs::create_dir_all(at("victim")).unwrap();
    fs::write(preferences("victim"), "tls.keylog_file: mine\n").unwrap();
    fs::set_permissions(preferences("victim"), fs::Permissions::from_mode(0o644)).unwrap();
    symlink("victim", at("link.keys")).unwrap();
    for name in ["file", "pipe", "endless", "long"] {
        fs::create_dir(at(name)).unwrap();
    }
    symlink(preferences("victim"), preferences("file")).unwrap();
    symlink("/dev/zero", preferences("endless")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(preferences("pipe")).status().unwrap().success());
    let long = File::create(preferences("long")).unwrap();
    long.set_len(1 << 40).unwrap();
    for name in ["link.keys", "file", "pipe", "endless", "long", "nothing"] {
        assert!(relocate(FAMILIES, &at(name), Path::new("/elsewhere")).is_err(), "{name}");
    }
    assert!(!at("nothing").exists());
    assert_eq!(fs::read_to_string(preferences("victim")).unwrap(), "tls.keylog_file: mine\n");
    assert_eq!(fs::metadata(preferences("victim")).unwrap().permissions().mode() & 0o777, 0o644);
    fs::rename(at("victim"), at("ours")).unwrap();
    relocate(FAMILIES, &at("ours"), Path::new("/elsewhere")).unwrap();
    assert_eq!(fs::read_to_string(preferences("ours")).unwrap(), "tls.keylog_file: /elsewhere/tls.keys\n");
}
