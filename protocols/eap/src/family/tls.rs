//! TLS records as far as they can be seen: RFC 5246 §6.2 and §7, RFC 8446 §4 and §5. And the one piece of X.509 that
//! identities need: a distinguished name, X.501.

use keytoll_family::Part;
use keytoll_net::wire::{DecodeError, Reader};

/// What one side has done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Direction {
    /// RFC 5246 §7.1: after ChangeCipherSpec records are encrypted. In TLS 1.3 it means nothing, and what would follow in
    /// the clear does not.
    encrypted: bool,
}

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// More records or messages in a flight are not shown.
const SHOWN_MAX: usize = 32;

/// The messages of a flight, and the alert that says something failed.
pub(super) fn flight(bytes: &[u8], direction: &mut Direction) -> (Vec<Part>, Option<String>) {
    let mut seen = Seen { parts: Vec::new(), failure: None, handshake: Vec::new() };
    let mut r = Reader::new(bytes);
    while !r.is_empty() && seen.parts.len() < SHOWN_MAX {
        if let Err(error) = seen.record(&mut r, direction) {
            seen.parts.push(Part::bare(format!("not TLS: {error}")));
            break;
        }
    }
    seen.flush();
    (seen.parts, seen.failure)
}

struct Seen {
    parts: Vec<Part>,
    failure: Option<String>,
    /// Handshake messages may span records.
    handshake: Vec<u8>,
}

impl Seen {
    /// Type(1) Version(2) Length(2) Fragment
    fn record(&mut self, r: &mut Reader<'_>, direction: &mut Direction) -> Result<(), DecodeError> {
        let kind = r.u8("record type")?;
        r.skip(2, "record version")?;
        let length = r.u16("record length")?;
        let fragment = r.take(length.into(), "record")?;
        if kind != HANDSHAKE {
            self.flush();
        }
        match (kind, direction.encrypted) {
            (CHANGE_CIPHER_SPEC, _) => {
                direction.encrypted = true;
                self.parts.push(Part::bare("ChangeCipherSpec"));
            }
            (ALERT, false) => self.alert(fragment),
            (ALERT, true) => self.parts.push(Part::new("Alert", "encrypted")),
            (HANDSHAKE, false) => self.handshake.extend_from_slice(fragment),
            (HANDSHAKE, true) => self.parts.push(Part::new("Handshake", "encrypted")),
            (APPLICATION_DATA, _) => self.application(fragment.len()),
            (other, _) => self.parts.push(Part::bare(format!("record type {other}"))),
        }
        Ok(())
    }

    /// Records of application data one after the other are one part: nobody can tell them apart.
    fn application(&mut self, bytes: usize) {
        self.parts.push(Part::new("encrypted", format!("{bytes} bytes")));
    }

    /// Level(1) Description(1)
    fn alert(&mut self, fragment: &[u8]) {
        let &[level, description] = fragment else {
            return self.parts.push(Part::new("Alert", "encrypted"));
        };
        let name = alert_name(description);
        // RFC 8446 §6.1: close_notify ends in good order.
        if level == 2 || description != 0 {
            self.failure = Some(format!("TLS alert {name}"));
        }
        self.parts.push(Part::new("Alert", name));
    }

    /// The handshake messages collected: Type(1) Length(3) body.
    fn flush(&mut self) {
        let bytes = std::mem::take(&mut self.handshake);
        let mut r = Reader::new(&bytes);
        while !r.is_empty() && self.parts.len() < SHOWN_MAX {
            match message(&mut r) {
                Ok(part) => self.parts.push(part),
                Err(_) => {
                    self.parts.push(Part::new("Handshake", "cut"));
                    return;
                }
            }
        }
    }
}

fn message(r: &mut Reader<'_>) -> Result<Part, DecodeError> {
    let kind = r.u8("handshake type")?;
    let [a, b, c] = r.array("handshake length")?;
    let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
    let mut body = r.sub(length, "handshake message")?;
    let detail = match kind {
        1 => client_hello(&mut body).unwrap_or_default(),
        2 => server_hello(&mut body).unwrap_or_default(),
        11 => certificates(&mut body),
        _ => String::new(),
    };
    Ok(Part::new(handshake_name(kind), detail))
}

fn handshake_name(kind: u8) -> String {
    let name = match kind {
        0 => "HelloRequest",
        1 => "ClientHello",
        2 => "ServerHello",
        4 => "NewSessionTicket",
        8 => "EncryptedExtensions",
        11 => "Certificate",
        12 => "ServerKeyExchange",
        13 => "CertificateRequest",
        14 => "ServerHelloDone",
        15 => "CertificateVerify",
        16 => "ClientKeyExchange",
        20 => "Finished",
        22 => "CertificateStatus",
        24 => "KeyUpdate",
        other => return format!("handshake type {other}"),
    };
    name.to_owned()
}

const SUPPORTED_VERSIONS: u16 = 43;

/// RFC 8446 §4.1.2: the highest version offered, and whether a session is to be continued.
fn client_hello(r: &mut Reader<'_>) -> Result<String, DecodeError> {
    let legacy = r.u16("version")?;
    r.skip(32, "random")?;
    let session = r.u8("session id length")?;
    r.skip(session.into(), "session id")?;
    let suites = r.u16("cipher suites length")?;
    r.skip(suites.into(), "cipher suites")?;
    let compression = r.u8("compression length")?;
    r.skip(compression.into(), "compression")?;
    let mut version = legacy;
    extensions(r, |kind, value| {
        if kind == SUPPORTED_VERSIONS {
            let offered = value.get(1..).unwrap_or_default().chunks_exact(2);
            let known =
                offered.map(|pair| u16::from_be_bytes([pair[0], pair[1]])).filter(|it| is_version(*it));
            version = known.max().unwrap_or(version);
        }
    })?;
    Ok(format!("{}, {} suites", version_name(version), suites / 2))
}

/// RFC 8446 §4.1.3: the version and suite chosen.
fn server_hello(r: &mut Reader<'_>) -> Result<String, DecodeError> {
    let mut version = r.u16("version")?;
    r.skip(32, "random")?;
    let session = r.u8("session id length")?;
    r.skip(session.into(), "session id")?;
    let suite = r.u16("cipher suite")?;
    r.skip(1, "compression")?;
    // RFC 5246 §7.4.1.3: extensions may be missing.
    let _ = extensions(r, |kind, value| {
        if let (SUPPORTED_VERSIONS, &[high, low]) = (kind, value) {
            version = u16::from_be_bytes([high, low]);
        }
    });
    Ok(format!("{}, {}", version_name(version), suite_name(suite)))
}

/// Length(2) { Type(2) Length(2) Value }
fn extensions(r: &mut Reader<'_>, mut visit: impl FnMut(u16, &[u8])) -> Result<(), DecodeError> {
    if r.is_empty() {
        return Ok(());
    }
    let length = r.u16("extensions length")?;
    let mut list = r.sub(length.into(), "extensions")?;
    while !list.is_empty() {
        let kind = list.u16("extension type")?;
        let length = list.u16("extension length")?;
        visit(kind, list.take(length.into(), "extension")?);
    }
    Ok(())
}

/// RFC 5246 §7.4.2: how many, and how long. (In TLS 1.3 they are encrypted.)
fn certificates(r: &mut Reader<'_>) -> String {
    let u24 = |r: &mut Reader<'_>| -> Result<usize, DecodeError> {
        let [a, b, c] = r.array("certificate length")?;
        Ok(usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c))
    };
    let mut sizes = Vec::new();
    if u24(r).is_ok() {
        while let Ok(length) = u24(r) {
            if r.skip(length, "certificate").is_err() || sizes.len() == SHOWN_MAX {
                break;
            }
            sizes.push(length.to_string());
        }
    }
    if sizes.is_empty() { "none".to_owned() } else { format!("{} of {} bytes", sizes.len(), sizes.join("+")) }
}

/// RFC 8701 §2: others are grease.
const fn is_version(version: u16) -> bool {
    matches!(version, 0x0301..=0x0304)
}

fn version_name(version: u16) -> String {
    match version {
        0x0300 => "SSL 3.0".to_owned(),
        0x0301..=0x0304 => format!("TLS 1.{}", version - 0x0301),
        other => format!("version {other:#06x}"),
    }
}

/// The suites that EAP servers choose nowadays; the registry has hundreds.
fn suite_name(suite: u16) -> String {
    let name = match suite {
        0x002f => "RSA_AES_128_CBC_SHA",
        0x0035 => "RSA_AES_256_CBC_SHA",
        0x003c => "RSA_AES_128_CBC_SHA256",
        0x003d => "RSA_AES_256_CBC_SHA256",
        0x009c => "RSA_AES_128_GCM_SHA256",
        0x009d => "RSA_AES_256_GCM_SHA384",
        0x009e => "DHE_RSA_AES_128_GCM_SHA256",
        0x009f => "DHE_RSA_AES_256_GCM_SHA384",
        0x1301 => "AES_128_GCM_SHA256",
        0x1302 => "AES_256_GCM_SHA384",
        0x1303 => "CHACHA20_POLY1305_SHA256",
        0xc009 => "ECDHE_ECDSA_AES_128_CBC_SHA",
        0xc00a => "ECDHE_ECDSA_AES_256_CBC_SHA",
        0xc013 => "ECDHE_RSA_AES_128_CBC_SHA",
        0xc014 => "ECDHE_RSA_AES_256_CBC_SHA",
        0xc023 => "ECDHE_ECDSA_AES_128_CBC_SHA256",
        0xc024 => "ECDHE_ECDSA_AES_256_CBC_SHA384",
        0xc027 => "ECDHE_RSA_AES_128_CBC_SHA256",
        0xc028 => "ECDHE_RSA_AES_256_CBC_SHA384",
        0xc02b => "ECDHE_ECDSA_AES_128_GCM_SHA256",
        0xc02c => "ECDHE_ECDSA_AES_256_GCM_SHA384",
        0xc02f => "ECDHE_RSA_AES_128_GCM_SHA256",
        0xc030 => "ECDHE_RSA_AES_256_GCM_SHA384",
        0xcca8 => "ECDHE_RSA_CHACHA20_POLY1305",
        0xcca9 => "ECDHE_ECDSA_CHACHA20_POLY1305",
        other => return format!("suite {other:#06x}"),
    };
    name.to_owned()
}

/// RFC 8446 §6.
fn alert_name(description: u8) -> String {
    let name = match description {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        40 => "handshake_failure",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        109 => "missing_extension",
        112 => "unrecognized_name",
        116 => "certificate_required",
        120 => "no_application_protocol",
        other => return format!("alert {other}"),
    };
    name.to_owned()
}
