//! Notes for readers: where the counts differ and why, and what is reconstructed. A summary does not contain the options that ran: for
//! these a note describes only the shipped scenario.

use super::measured::Measured;
use super::{algorithms, cells};

/// All notes.
pub(super) fn notes(measured: Measured<'_>) -> Vec<String> {
    let timed = measured.0.supplement.primitives.as_ref().map(algorithms::notes);
    let uncharged = measured.is_uncharged().then(|| UNCHARGED.to_owned());
    let told = NOTES.map(str::to_owned);
    timed
        .into_iter()
        .flatten()
        .chain(uncharged)
        .chain(told)
        .chain(cells::notes(measured.0.supplement))
        .collect()
}

const UNCHARGED: &str = "Computation took no time here: delays are those of the air alone, and operations were counted and not \
                         timed.";

const NOTES: [&str; 6] = [
    "RRKM is a reconstruction: only this chapter is published. keytoll chose its frames, its challenge, its signature and the derivation of \
     its keys so that the counts of Table 4-2 and the text result. So equal counts confirm nothing. Its cost next to the other methods \
     does not depend on these choices.",
    "Do not use WEP, RRKM or dynamic WEP with EAP-TLS. WEP protects nothing (Fluhrer, Mantin, Shamir, 2001). RRKM does not repair it: an \
     attacker with one of its keys can compute all later ones, because each is a hash of the key before, and with one recorded challenge \
     can search keys of 40 bits offline.",
    "Operations are those of an authentication until the station is a member, mean of all, counted by the meter around the \
     cryptographic library: one for each call. Data frames, later keys and the farewell are not among them.",
    "EAP-TLS here is mutual TLS 1.2 with certificates of 2048 bits and a CA on both sides. Each side verifies the other's certificate \
     (the paper's \"Verify CA\") and signature, and signs itself: the access point its key exchange, the station its \
     CertificateVerify, which the paper does not count. Keys are agreed on by elliptic Diffie-Hellman, so nobody encrypts \
     with RSA as the paper's station did. Of the many HMACs, the paper's one among them, most derive keys. Two HMACs and two WEPs are those of the two EAPOL-Key frames that bring the first keys, which the paper \
     counts under Re-key alone.",
    "WPA2 and WPA3 encrypt with AES and bring their keys in a 4-way handshake; SAE computes with points of an elliptic curve, which \
     makes a password worth nothing to who only listens. EAP-TLS under WPA2 or WPA3 costs what it costs with WEP, and the handshake.",
    "mips-125 is this machine slowed down to 125 MHz by clock frequency alone, so that it takes as many cycles as this machine, which \
     are far fewer than a MIPS would need for RSA. The paper timed RSA on a laptop of 2 GHz only.",
];
