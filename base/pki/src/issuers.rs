//! Selects the certificates of a peer that path building looks at. Read RFC 5280 §4.2.1.1, §4.2.1.2 and RFC 4158 §3 first.
//!
//! A path builder tries every order of certificates with the same name, so a stranger with a handful of them could keep us
//! busy for seconds before a signature is checked. Only certificates that are linked by names to the end entity are passed
//! on, a few of each name and a few in all.

use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::ParsedExtension;

use crate::certificate;

/// How many certificates of a peer are read. No honest chain has nearly as many.
const READ_MAX: usize = 32;
/// How many issuers are handed on.
const ISSUERS_MAX: usize = 8;
/// How many of one name are kept: enough for cross-certification and for a change of key.
const NAMESAKES_MAX: usize = 3;

/// A certificate and the names that link it to others.
struct Link<'a> {
    der: &'a [u8],
    parsed: X509Certificate<'a>,
}

impl<'a> Link<'a> {
    fn read(der: &'a [u8]) -> Option<Self> {
        Some(Self { der, parsed: certificate::parse(der).ok()? })
    }

    fn name(&self) -> &[u8] {
        self.parsed.subject().as_raw()
    }

    fn key_identifier(&self) -> Option<&[u8]> {
        self.parsed.iter_extensions().find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(identifier) => Some(identifier.0),
            _ => None,
        })
    }

    fn issuers_key_identifier(&self) -> Option<&[u8]> {
        self.parsed.iter_extensions().find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::AuthorityKeyIdentifier(identifier) => {
                Some(identifier.key_identifier.as_ref()?.0)
            }
            _ => None,
        })
    }

    /// Whether its name is that of the other's issuer.
    fn may_have_issued(&self, other: &Self) -> bool {
        self.name() == other.parsed.issuer().as_raw()
    }

    // RFC 5280 §4.2.1.1: the key identifier distinguishes the keys of an issuer.
    /// Whether its key differs from that of the other's issuer.
    fn has_another_key_than_the_issuer_of(&self, other: &Self) -> bool {
        let identifiers = self.key_identifier().zip(other.issuers_key_identifier());
        identifiers.is_some_and(|(ours, wanted)| ours != wanted)
    }
}

/// The certificates that may be on the path of an end entity.
pub(crate) fn of<'a>(end_entity: &'a [u8], others: &[&'a [u8]]) -> Vec<&'a [u8]> {
    if others.is_empty() {
        return Vec::new();
    }
    let mut chosen: Vec<Link<'a>> = Link::read(end_entity).into_iter().collect();
    let mut others = read(others);
    let mut at = 0;
    while at < chosen.len() {
        let mut issuers: Vec<Link<'a>> =
            others.extract_if(.., |other| other.may_have_issued(&chosen[at])).collect();
        issuers.sort_by_key(|issuer| issuer.has_another_key_than_the_issuer_of(&chosen[at]));
        issuers.truncate(NAMESAKES_MAX);
        chosen.append(&mut issuers);
        at += 1;
    }
    chosen.iter().skip(1).take(ISSUERS_MAX).map(|link| link.der).collect()
}

/// All valid certificates, without duplicates.
fn read<'a>(certificates: &[&'a [u8]]) -> Vec<Link<'a>> {
    let mut links: Vec<Link<'a>> = Vec::new();
    for der in certificates.iter().take(READ_MAX) {
        if links.iter().all(|link| link.der != *der) {
            links.extend(Link::read(der));
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::{Real, keys};
    use keytoll_crypto_api::Seed;
    use keytoll_crypto_api::algorithm::KeyKind;

    use super::*;
    use crate::{Authority, Request, Validity};

    /// The end entity, the intermediates and the root of an authority, which have the same names under every seed.
    fn chain(seed: u64) -> Vec<Vec<u8>> {
        let dates = Validity { from_unix_seconds: 1_767_225_600, until_unix_seconds: 2_082_758_400 };
        let (seed, mut crypto) = (Seed::from(seed), Real::default());
        let mut authority = Authority::new(KeyKind::Ed25519, dates, &seed, &mut keys::generate, &mut crypto);
        let request = Request { name: "gw", alternatives: &[], kind: KeyKind::Ed25519, chain_length: 4 };
        let credential = authority.issue(&request, &mut keys::generate, &mut crypto);
        credential.chain.iter().cloned().chain([authority.anchor()]).collect()
    }

    fn chosen<'a>(end_entity: &'a [u8], others: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<&'a [u8]> {
        let others: Vec<&[u8]> = others.into_iter().map(Vec::as_slice).collect();
        of(end_entity, &others)
    }

    #[test]
    fn the_path_is_chosen_in_its_order_and_nothing_beside_it() {
        let (ours, stranger) = (chain(1), chain(2)[0].clone());
        let mixed = [&ours[3], &stranger, &ours[1], &ours[1], &ours[2], &ours[3]];
        assert_eq!(chosen(&ours[0], mixed), [&ours[1][..], &ours[2], &ours[3]]);
        assert_eq!(chosen(&ours[0], [&ours[2], &ours[3]]), Vec::<&[u8]>::new(), "a link is missing");
        assert_eq!(chosen(&ours[0], [&b"no certificate".to_vec(), &ours[1]]), [&ours[1][..]]);
    }

    /// The work of a path builder grows faster than any power of the number of certificates with one name.
    #[test]
    fn only_a_few_of_a_strangers_many_certificates_are_looked_at() {
        let strangers: Vec<Vec<Vec<u8>>> = (1..=40).map(chain).collect();
        let roots: Vec<&Vec<u8>> = strangers.iter().map(|chain| &chain[3]).collect();
        // The root is issued by one of the same name.
        assert_eq!(chosen(&strangers[0][2], roots.clone()).len(), NAMESAKES_MAX);
        let all: Vec<&Vec<u8>> = strangers.iter().flat_map(|chain| &chain[1..]).collect();
        let found = chosen(&strangers[0][0], all.iter().copied().chain(roots));
        assert_eq!(found.len(), ISSUERS_MAX);
        let name = |der: &[u8]| certificate::parse(der).unwrap().subject().as_raw().to_vec();
        for der in &found {
            let namesakes = found.iter().filter(|other| name(other) == name(der)).count();
            assert!(namesakes <= NAMESAKES_MAX, "{namesakes} of one name");
        }
        assert!(found.contains(&&strangers[0][1][..]) && found.contains(&&strangers[0][2][..]));
        let late: Vec<&Vec<u8>> =
            all.iter().copied().skip(3).take(READ_MAX).chain(&strangers[0][1..]).collect();
        assert!(
            !chosen(&strangers[0][0], late).contains(&&strangers[0][1][..]),
            "what comes after many is not read"
        );
    }
}
