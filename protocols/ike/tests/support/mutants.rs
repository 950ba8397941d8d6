//! Malformed messages. RFC 7296 §3.1 (header), §3.2 (payload headers), §3.14 (Encrypted payload).
//!
//! [`bytewise`] damages any message; [`chains`] rearranges the payloads of an unencrypted one; [`inner_chains`] does the same
//! inside the Encrypted payload of null cryptography, as a peer with the keys could.

use keytoll_crypto_api::Rng;

const HEADER_LEN: usize = 28;
const ENCRYPTED: u8 = 46;
/// AES-GCM's IV before, and ICV after the plaintext, the only suite whose contents are altered.
const IV_LEN: usize = 8;
const ICV_LEN: usize = 16;

/// A damaged message and a description of the damage.
pub(crate) type Mutant = (String, Vec<u8>);

/// Truncated at every length, extended, every byte changed, every bit of the header too.
pub(crate) fn bytewise(message: &[u8]) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for length in 0..message.len() {
        mutants.push((format!("cut to {length}"), message[..length].to_vec()));
        if length >= HEADER_LEN {
            mutants
                .push((format!("cut to {length} and says so"), with_true_length(message[..length].to_vec())));
        }
    }
    for more in [1, 4, 100, 60_000] {
        let longer = [message, &vec![0; more]].concat();
        mutants.push((format!("{more} longer and says so"), with_true_length(longer.clone())));
        mutants.push((format!("{more} longer"), longer));
    }
    for index in 0..message.len() {
        let bits = if index < HEADER_LEN { 0..8 } else { index % 8..index % 8 + 1 };
        for bit in bits {
            let mut flipped = message.to_vec();
            flipped[index] ^= 1 << bit;
            mutants.push((format!("bit {bit} of byte {index} flipped"), flipped));
        }
    }
    mutants
}

/// The header with another value in one of its fields.
pub(crate) fn headers(message: &[u8]) -> Vec<Mutant> {
    let set = |name: &str, at: usize, bytes: &[u8]| {
        let mut changed = message.to_vec();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        (format!("{name} {bytes:02x?}"), changed)
    };
    let mut mutants = vec![
        set("initiator SPI", 0, &[0; 8]),
        set("initiator SPI", 0, &[7; 8]),
        set("responder SPI", 8, &[0; 8]),
        set("responder SPI", 8, &[7; 8]),
    ];
    mutants.extend([0x00, 0x10, 0x21, 0x30, 0xf0].map(|version| set("version", 17, &[version])));
    mutants.extend((0..=255).map(|exchange| set("exchange", 18, &[exchange])));
    mutants.extend((0..=255).map(|flags| set("flags", 19, &[flags])));
    mutants.extend((0..=255).map(|payload| set("next payload", 16, &[payload])));
    mutants.extend([0_u32, 1, 2, 3, 100, u32::MAX].map(|id| set("message id", 20, &id.to_be_bytes())));
    mutants.extend([0_u32, 27, 28, 29, u32::MAX].map(|length| set("length", 24, &length.to_be_bytes())));
    mutants.retain(|(_, changed)| changed != message);
    mutants
}

/// A payload taken out of its chain.
#[derive(Clone)]
struct Link {
    kind: u8,
    critical: u8,
    body: Vec<u8>,
}

fn links(mut kind: u8, mut bytes: &[u8]) -> Option<Vec<Link>> {
    let mut links = Vec::new();
    while kind != 0 {
        let length = usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]));
        let body = bytes.get(4..length)?.to_vec();
        links.push(Link { kind, critical: bytes[1], body });
        kind = bytes[0];
        bytes = &bytes[length..];
    }
    Some(links)
}

/// The type of the first payload, and the chain.
fn chained(links: &[Link]) -> (u8, Vec<u8>) {
    let mut bytes = Vec::new();
    for (n, link) in links.iter().enumerate() {
        let next = links.get(n + 1).map_or(0, |next| next.kind);
        bytes.extend([next, link.critical]);
        bytes.extend(u16::try_from(link.body.len() + 4).unwrap().to_be_bytes());
        bytes.extend(&link.body);
    }
    (links.first().map_or(0, |link| link.kind), bytes)
}

/// Every payload repeated, omitted, moved, emptied, truncated, extended; unknown ones among them.
fn rearranged(links: &[Link], rng: &mut Rng) -> Vec<(String, Vec<Link>)> {
    let mut all = Vec::new();
    for n in 0..links.len() {
        let kind = links[n].kind;
        let mut change = |what: &str, act: &dyn Fn(&mut Vec<Link>)| {
            let mut changed = links.to_vec();
            act(&mut changed);
            all.push((format!("payload {n} ({kind}) {what}"), changed));
        };
        change("repeated", &|links| links.insert(n, links[n].clone()));
        change("repeated at the end", &|links| links.push(links[n].clone()));
        change("left out", &|links| drop(links.remove(n)));
        change("first", &|links| links[..=n].rotate_right(1));
        change("last", &|links| links[n..].rotate_left(1));
        change("critical", &|links| links[n].critical = 0x80);
        change("empty", &|links| links[n].body.clear());
        for length in 0..links[n].body.len().min(80) {
            change(&format!("cut to {length}"), &|links| links[n].body.truncate(length));
        }
        change("longer", &|links| links[n].body.extend([0; 5]));
        change("stranger, critical", &|links| links.insert(n, stranger(0x80)));
        change("stranger", &|links| links.insert(n, stranger(0)));
        for kind in 33..=54 {
            change(&format!("is now {kind}"), &|links| links[n].kind = kind);
        }
        for byte in 0..links[n].body.len().min(120) {
            let flip = 1 << rng.below(8);
            change(&format!("byte {byte} changed"), &|links| links[n].body[byte] ^= flip);
        }
    }
    all.push(("no payload at all".to_owned(), Vec::new()));
    all
}

fn stranger(critical: u8) -> Link {
    Link { kind: 200, critical, body: vec![1, 2, 3] }
}

/// The rearranged chain of an unencrypted message.
pub(crate) fn chains(message: &[u8], rng: &mut Rng) -> Vec<Mutant> {
    let Some(links) = links(message[16], &message[HEADER_LEN..]) else { return Vec::new() };
    let mutant = |(what, links): (String, Vec<Link>)| {
        let (first, chain) = chained(&links);
        let mut message = [&message[..HEADER_LEN], &chain].concat();
        message[16] = first;
        (what, with_true_length(message))
    };
    rearranged(&links, rng).into_iter().map(mutant).collect()
}

/// The rearranged chain inside the Encrypted payload of a message of null cryptography.
pub(crate) fn inner_chains(message: &[u8], rng: &mut Rng) -> Vec<Mutant> {
    if message[16] != ENCRYPTED {
        return Vec::new();
    }
    let inside = &message[HEADER_LEN + 4 + IV_LEN..message.len() - ICV_LEN];
    let padding = usize::from(*inside.last().unwrap()) + 1;
    let Some(links) = links(message[HEADER_LEN], &inside[..inside.len() - padding]) else {
        return Vec::new();
    };
    let mutant = |(what, links): (String, Vec<Link>)| (what, encrypted(message, &links));
    rearranged(&links, rng).into_iter().map(mutant).collect()
}

/// A message of null cryptography whose contents are replaced by one payload.
pub(crate) fn of_one_payload(message: &[u8], kind: u8, body: &[u8]) -> Vec<u8> {
    encrypted(message, &[Link { kind, critical: 0, body: body.to_vec() }])
}

/// The message with this chain inside.
fn encrypted(message: &[u8], links: &[Link]) -> Vec<u8> {
    let (first, chain) = chained(links);
    let mut message = message[..HEADER_LEN + 4 + IV_LEN].to_vec();
    message.extend(chain);
    message.push(0);
    message.extend([0; ICV_LEN]);
    message[HEADER_LEN] = first;
    with_true_length(with_longest_payload(message))
}

/// The largest datagram that UDP over IPv4 carries.
const DATAGRAM_MAX: usize = 65_507;

/// Messages of maximum size: unencrypted payloads of every number and size before the existing ones; trailing bytes.
pub(crate) fn giants(message: &[u8]) -> Vec<Mutant> {
    let room = DATAGRAM_MAX - message.len();
    let mut mutants: Vec<Mutant> = [1, 2, 7, 63, 64, 1000]
        .into_iter()
        .map(|count| (format!("{count} payloads in front"), with_cleartext(message, count, room / count - 4)))
        .collect();
    // RFC 3610 §2.2: from 65 280 bytes on the length of associated data is encoded differently.
    mutants.extend(
        (65_270..65_290)
            .filter(|len| *len < room)
            .map(|len| (format!("{len} bytes in front"), with_cleartext(message, 1, len - 4))),
    );
    let whole = [message, &vec![0; room]].concat();
    mutants.push(("longest".to_owned(), with_true_length(whole.clone())));
    mutants.push(("longest, of one payload".to_owned(), with_true_length(with_longest_payload(whole))));
    mutants
}

/// Unknown uncritical payloads before the others.
pub(crate) fn with_cleartext(message: &[u8], count: usize, body_len: usize) -> Vec<u8> {
    let mut payload = vec![0; 4 + body_len];
    payload[2..4].copy_from_slice(&u16::try_from(4 + body_len).unwrap().to_be_bytes());
    let mut changed = message[..HEADER_LEN].to_vec();
    changed[16] = 200;
    for left in (0..count).rev() {
        payload[0] = if left == 0 { message[16] } else { 200 };
        changed.extend(&payload);
    }
    changed.extend(&message[HEADER_LEN..]);
    with_true_length(changed)
}

/// The first payload extends to the end.
fn with_longest_payload(mut message: Vec<u8>) -> Vec<u8> {
    let length = u16::try_from(message.len() - HEADER_LEN).unwrap();
    message[HEADER_LEN + 2..HEADER_LEN + 4].copy_from_slice(&length.to_be_bytes());
    message
}

/// A message of null cryptography with one more payload at the end of its contents.
pub(crate) fn with_payload(message: &[u8], kind: u8, body: &[u8]) -> Vec<u8> {
    let inside = &message[HEADER_LEN + 4 + IV_LEN..message.len() - ICV_LEN - 1];
    let mut all = links(message[HEADER_LEN], inside).unwrap();
    all.push(Link { kind, critical: 0, body: body.to_vec() });
    encrypted(message, &all)
}

/// Corrects the length in the header.
fn with_true_length(mut message: Vec<u8>) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    message[24..28].copy_from_slice(&length.to_be_bytes());
    message
}
