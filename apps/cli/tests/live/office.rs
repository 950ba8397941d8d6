//! A certificate authority of a test: issues, revokes, and leaves what it made as files.

use std::time::{SystemTime, UNIX_EPOCH};

use keytoll_crypto::{Real, keys};
use keytoll_crypto_api::Seed;
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{AlternativeName, Credential};
use keytoll_pki::{Authority, Request, Validity, pem};

use super::support::Dir;

pub(crate) const DAY: u64 = 86_400;

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// An authority of the test, whose files are in a directory.
pub(crate) struct Office<'a> {
    dir: &'a Dir,
    authority: Authority,
}

impl<'a> Office<'a> {
    pub(crate) fn new(dir: &'a Dir, seed: u64, validity: Validity) -> Self {
        let mut make_key = keys::generate as fn(_, &mut _) -> _;
        let mut crypto = Real::default();
        let seed = Seed::from(seed);
        let authority = Authority::new(KeyKind::EcdsaP256, validity, &seed, &mut make_key, &mut crypto);
        Self { dir, authority }
    }

    pub(crate) fn of_today(dir: &'a Dir) -> Self {
        Self::new(dir, 1, Validity { from_unix_seconds: now() - DAY, until_unix_seconds: now() + DAY })
    }

    pub(crate) fn root(&self, file: &str) {
        pem::write_certificates(&self.dir.path(file), &[self.authority.anchor()]).unwrap();
    }

    pub(crate) fn issue(&mut self, name: &str, alternative: AlternativeName) -> Credential {
        self.issue_for(name, &[alternative])
    }

    pub(crate) fn issue_for(&mut self, name: &str, alternatives: &[AlternativeName]) -> Credential {
        let mut make_key = keys::generate as fn(_, &mut _) -> _;
        let request = Request { name, alternatives, kind: KeyKind::EcdsaP256, chain_length: 2 };
        let credential = self.authority.issue(&request, &mut make_key, &mut Real::default());
        pem::write_certificates(&self.dir.path(&format!("{name}.crt")), &credential.chain).unwrap();
        let pkcs8 = keys::to_pkcs8(&credential.key).unwrap();
        pem::write_private_key(&self.dir.path(&format!("{name}.key")), &pkcs8).unwrap();
        credential
    }

    /// Writes a list that holds for so long, beside the file first: nobody reads half of it.
    pub(crate) fn list(&self, file: &str, revoked: &[&Credential], seconds: u64) {
        let revoked: Vec<&[u8]> = revoked.iter().map(|credential| &credential.chain[0][..]).collect();
        let dates = Validity { from_unix_seconds: now() - 1, until_unix_seconds: now() + seconds };
        let lists = self.authority.revocation_lists(&revoked, dates, &mut Real::default());
        pem::write_revocation_lists(&self.dir.path("list.part"), &lists).unwrap();
        std::fs::rename(self.dir.path("list.part"), self.dir.path(file)).unwrap();
    }
}

pub(crate) fn dns(name: &str) -> AlternativeName {
    AlternativeName::Dns(name.into())
}

pub(crate) fn email(name: &str) -> AlternativeName {
    AlternativeName::Email(name.into())
}
