//! The trust anchors of a node: certificates from files, and their revocation lists, which are reloaded when their files
//! change.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keytoll_crypto::Real;
use keytoll_crypto_api::credentials::Trust;
use keytoll_engine::Time;
use keytoll_native::clock::unix_seconds;
use keytoll_pki::{Anchors, Purpose, RevocationList, pem};
use keytoll_scenario::ScenarioError;
use keytoll_scenario::node::{Placed, RootsPlan};

use super::files;

/// All anchors of a node.
#[derive(Debug, Clone, Default)]
pub struct Trusts(Vec<Trusted>);

/// Trust anchors with their files.
#[derive(Debug, Clone)]
struct Trusted {
    anchors: Arc<Anchors>,
    /// Its identity: the certificates, and their purpose.
    roots: (Vec<Vec<u8>>, Purpose),
    lists: Vec<Placed<PathBuf>>,
    /// The stamps of the list files when they were read.
    seen: Vec<Option<Stamp>>,
}

/// The stamp of a file: device and inode, length, and time of its last change in seconds and nanoseconds.
type Stamp = (u64, u64, u64, i64, i64);

/// Anchors as they are drawn.
#[derive(Debug, Default)]
pub(super) struct Drawn(RefCell<Trusts>);

impl Drawn {
    /// Trusts certificates with a path to those of a file that are not revoked. Equal trust is shared, so
    /// that a peer is the same under all connections with it.
    pub(super) fn trust(&self, plan: &RootsPlan, purpose: Purpose) -> Result<Arc<dyn Trust>, ScenarioError> {
        let roots = files::certificates(&plan.roots)?;
        if let Some(known) = self.0.borrow().known(&roots, purpose, &plan.lists) {
            return Ok(known);
        }
        let seen = plan.lists.iter().map(|path| stamp(&path.value)).collect();
        let lists = read(&plan.lists)?;
        let anchors = Anchors::new(roots.iter().map(Vec::as_slice), unix_seconds(), &mut Real::default());
        let shown = plan.roots.value.display();
        let anchors = anchors.map_err(|error| {
            plan.roots.error(format!("cannot trust the certificates in {shown}: {error}"), "this file")
        })?;
        let anchors = Arc::new(anchors.for_purpose(purpose));
        anchors.renew_lists(lists);
        let (lists, roots) = (plan.lists.clone(), (roots, purpose));
        let trusted = Trusted { anchors: Arc::clone(&anchors), roots, lists, seen };
        self.0.borrow_mut().0.push(trusted);
        Ok(anchors)
    }

    pub(super) fn finish(self) -> Trusts {
        self.0.into_inner()
    }
}

impl Trusts {
    fn known(&self, roots: &[Vec<u8>], purpose: Purpose, lists: &[Placed<PathBuf>]) -> Option<Arc<Anchors>> {
        let paths =
            |lists: &[Placed<PathBuf>]| lists.iter().map(|path| path.value.clone()).collect::<Vec<_>>();
        let is_same =
            |it: &&Trusted| it.roots.0 == roots && it.roots.1 == purpose && paths(&it.lists) == paths(lists);
        self.0.iter().find(is_same).map(|known| Arc::clone(&known.anchors))
    }

    /// Sets the date of certificate checks, and reloads changed revocation lists. Returns the reloaded ones, or
    /// why they could not be: then the previous lists remain until they expire.
    pub fn renew(&mut self, now: Time) -> Vec<Result<String, String>> {
        let zero = unix_seconds().saturating_sub(now.since(Time::ZERO).as_secs());
        self.0.iter().for_each(|trusted| trusted.anchors.renew_calendar(zero));
        self.0.iter_mut().filter_map(Trusted::renew).collect()
    }
}

impl Trusted {
    fn renew(&mut self) -> Option<Result<String, String>> {
        let found: Vec<_> = self.lists.iter().map(|path| stamp(&path.value)).collect();
        if found == self.seen {
            return None;
        }
        self.seen = found;
        Some(match read(&self.lists) {
            Ok(lists) => {
                let count = lists.len();
                self.anchors.renew_lists(lists);
                Ok(format!("read {count} revocation lists again"))
            }
            Err(error) => Err(format!("the revocation lists stay as they were: {error}")),
        })
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
}

fn read(paths: &[Placed<PathBuf>]) -> Result<Vec<RevocationList>, ScenarioError> {
    let of_file = |path: &Placed<PathBuf>| {
        let read = pem::load_revocation_lists(&path.value);
        read.map_err(|error| path.error(format!("cannot {error}"), "this file"))
    };
    Ok(paths.iter().map(of_file).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::keys;
    use keytoll_crypto_api::Seed;
    use keytoll_crypto_api::algorithm::KeyKind;
    use keytoll_pki::{Authority, Validity};

    use super::*;

    /// A peer is the same under all connections with equal trust, which `Believe` compares by identity.
    #[test]
    fn the_same_certificates_for_the_same_purpose_are_one_trust() {
        let crypto = &mut Real::default();
        let validity = Validity { from_unix_seconds: 0, until_unix_seconds: 4_000_000_000 };
        let authority =
            Authority::new(KeyKind::EcdsaP256, validity, &Seed::from(1), &mut keys::generate, crypto);
        let roots = vec![authority.anchor()];
        let anchors =
            Anchors::new(roots.iter().map(Vec::as_slice), 1, crypto).unwrap().for_purpose(Purpose::Ike);
        let anchors = Arc::new(anchors);
        let trusted = Trusted {
            anchors: anchors.clone(),
            roots: (roots.clone(), Purpose::Ike),
            lists: vec![],
            seen: vec![],
        };
        let trusts = Trusts(vec![trusted]);
        let known = trusts.known(&roots, Purpose::Ike, &[]);
        assert!(known.is_some_and(|known| Arc::ptr_eq(&known, &anchors)));
        assert!(trusts.known(&roots, Purpose::TlsServer, &[]).is_none());
        assert!(trusts.known(&[vec![1]], Purpose::Ike, &[]).is_none());
    }
}
