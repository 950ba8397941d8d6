//! The suites and kinds of proof that IKEv2 is tried with, in either role: one list for both.

use crate::lab::Lab;
use crate::pki::{KeyKind, Pki};
use crate::require::lab_or_skip;
use crate::run::Trouble;
use crate::swanctl::Terms;

/// Sets up SAs under these terms, uses them, takes them down.
pub type Run = fn(&Lab, &Terms, Option<&Pki>) -> Result<(), Trouble>;

/// One test for each row; `$run` is a [`Run`].
#[macro_export]
macro_rules! suite_tests {
    ($run:path) => {
        $crate::suite_tests! { $run;
            psk_with_an_aead: None, "aes128gcm16-prfsha256-x25519", "aes128gcm16";
            psk_with_encrypt_then_mac: None, "aes128-sha256-modp2048", "aes128-sha256";
            psk_with_aes_xcbc_and_ecp: None, "aes256ctr-aesxcbc-prfaesxcbc-ecp384", "aes256-sha384";
            psk_with_chacha: None, "chacha20poly1305-prfsha512-ecp256", "chacha20poly1305";
            rsa_2048: Some($crate::KeyKind::Rsa2048), "aes128-sha256-modp2048", "aes128gcm16";
            ecdsa_p256: Some($crate::KeyKind::EcdsaP256), "aes128gcm16-prfsha256-ecp256", "aes128gcm16";
        }
    };
    ($run:path; $($name:ident: $certificates:expr, $ike:literal, $esp:literal;)*) => { $(
        #[test]
        fn $name() {
            $crate::suites::check($run, $certificates, $ike, $esp);
        }
    )* };
}

/// One row: with certificates of a kind, or else a shared key.
///
/// # Panics
/// If it fails.
pub fn check(run: Run, certificates: Option<KeyKind>, ike: &'static str, esp: &'static str) {
    let Some(lab) = lab_or_skip() else { return };
    attempt(&lab, run, certificates, ike, esp).unwrap_or_else(|why| panic!("{why}"));
}

fn attempt(
    lab: &Lab,
    run: Run,
    certificates: Option<KeyKind>,
    ike: &'static str,
    esp: &'static str,
) -> Result<(), Trouble> {
    match certificates {
        None => run(lab, &Terms::psk(ike, esp), None),
        Some(kind) => {
            let pki = Pki::make(lab.shared_dir(), kind)?;
            run(lab, &Terms::certificate(ike, esp), Some(&pki))
        }
    }
}
