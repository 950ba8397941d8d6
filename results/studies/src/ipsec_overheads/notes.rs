//! Notes on the paper and on this run.

use super::measured::Measured;
use super::published;
use super::{Cipher, Way};
use crate::Material;

/// All notes.
pub(super) fn notes(material: &Material<'_>) -> Vec<String> {
    let measured = Measured(material);
    let always = [
        totals_do_not_add_up(),
        "Full: with all cryptography. Skeleton: the same with null operations in place of cryptography. Native: the same ping \
         without IPsec."
            .to_owned(),
        "The paper's text and its Table 3 differ: (full − skeleton) ÷ (full − native) is 55 %, 31 % and 34 % in the table, and \
         55 %, 34 % and 37 % in §4.2."
            .to_owned(),
        "Table 1 labels the decryption and the signature verification of phase 1 `R2`; they belong to what the server \
         received as I3. Where the paper times what keytoll's meter cannot tell apart (the PRF of phase 2 makes hashes and \
         keys), its rows are added up and marked derived. `D-H comp.` is taken as generation and agreement together."
            .to_owned(),
        "Not printed, and chosen here in the shipped scenario: the RSA key (2048 bits; Openswan of that time made 2192 by \
         default), the Diffie-Hellman group (modp1536, which Openswan offered first; its private exponents had 256 bits, \
         here they are short, too) and perfect forward secrecy (Table 1 has a second D-H computation, so it was on). Public \
         keys are configured by hand, as in the paper."
            .to_owned(),
        "The paper timed a wrapper that asks Openswan's daemon to connect and waits for it, on Pentium 4s of 1.66 and 1.8 GHz \
         with a network between them: its totals include process switches, timers and the transmission. Here both ends are \
         engines in one process. Shares refer to CPU time of the engines, the paper's to wall time of processes: read verdicts \
         on shares with care."
            .to_owned(),
        "The wrapper itself is repeated with live daemons, keytoll and libreswan, Openswan's successor: interop/RESULTS.md has \
         wall time, CPU time and the share of cryptography in 25 trials of start, connection, termination and stop \
         (`interop-bench daemon`). They are no part of this run."
            .to_owned(),
        "The paper's native ping is Linux' TCP/IP from driver to driver; here it is the echo alone. Its 736 bytes are taken \
         as the length of the IP packet."
            .to_owned(),
    ];
    always.into_iter().chain(lacking(measured)).collect()
}

fn totals_do_not_add_up() -> String {
    let sums = Cipher::ALL.map(|cipher| format!("{:.2}", published::operations_added_ms(cipher).value));
    let totals = Cipher::ALL.map(|cipher| format!("{:.2}", published::operations_total_ms(cipher).value));
    format!(
        "Table 1 does not add up: its rows make {} ms, its last line says {}; about 1.35 ms are of operations that it does not \
         list.",
        sums.join(", "),
        totals.join(", ")
    )
}

/// A note on what this run has not measured.
fn lacking(measured: Measured<'_>) -> Option<String> {
    let without = |way: &Way| measured.skeleton(*way, Cipher::TripleDes192).is_none();
    let ways: Vec<&str> = Way::ALL.iter().filter(|way| without(way)).map(|way| way.name()).collect();
    let packets = measured.packets().is_none().then_some("packets through a tunnel");
    let lacking: Vec<&str> = ways.into_iter().chain(packets).collect();
    (!lacking.is_empty()).then(|| format!("Not measured in this run: {}.", lacking.join("; ")))
}
