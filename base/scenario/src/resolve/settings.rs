//! `[options]` and `[sweep]`: what a row can vary. One line in [`SETTINGS`] adds a key to both, to the variant's name and
//! to the printed plan.

pub(crate) mod idle;
mod table;

use std::time::Duration;

use keytoll_crypto_api::algorithm::{KeyKind, SignatureScheme};
use keytoll_crypto_api::suite::Suite;

use crate::catalogue::signatures::fit;
use crate::catalogue::suites::{DEFAULT_ESP, DEFAULT_IKE, DEFAULT_IKEV1};
use crate::catalogue::{Fault, Method};
use crate::diagnostic::ScenarioError;
use crate::plan::{Chain, GatewayAuth, Mode, Network, Options};
use crate::quantity;
use crate::resolve::values::{NEVER, signatures};
use crate::resolve::{ikev1, makers, traffic};
use crate::tree::{Item, Table, Value};
use table::{CRLS, ESP_SUITE, FAULT, GATEWAY_KEY, NO_FAULT, SIGNATURES, SUITE, USUAL};
pub(crate) use table::{SETTINGS, tells};

/// Options and suites of a row while it is being resolved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) options: Options,
    /// None: what is usual for the method.
    pub(crate) ike_suites: Option<Vec<Suite>>,
    pub(crate) esp_suites: Vec<Suite>,
}

/// A key of `[options]`: what it is, how it is read, and printed.
pub(crate) struct Setting {
    pub(crate) key: &'static str,
    /// What it may be: words as they are written, ranges with ` to `, and forms in capitals. A test holds them against `read`.
    pub(crate) values: &'static [&'static str],
    /// In a few words.
    pub(crate) about: &'static str,
    read: fn(&mut Settings, &Item) -> Result<(), ScenarioError>,
    /// As a TOML value.
    pub(crate) print: fn(&Settings) -> String,
}

impl Default for Settings {
    fn default() -> Self {
        let esp = Suite::esp(DEFAULT_ESP).expect("a test parses the default suite");
        Self { options: Options::default(), ike_suites: None, esp_suites: vec![esp] }
    }
}

impl Settings {
    /// With the values of an `[options]` table.
    pub(crate) fn changed_by(mut self, item: Option<&Item>) -> Result<Self, ScenarioError> {
        let Some(item) = item else {
            return Ok(self);
        };
        let table = item.table()?;
        table.only("`options`", &keys())?;
        for entry in &table.entries {
            self.change(&entry.key, &entry.item)?;
        }
        Ok(self)
    }

    fn change(&mut self, key: &str, item: &Item) -> Result<(), ScenarioError> {
        let setting = SETTINGS.iter().find(|setting| setting.key == key);
        setting.map_or(Ok(()), |setting| (setting.read)(self, item))
    }

    /// Without what means nothing to the method.
    pub(super) fn fitted_to(mut self, method: Method) -> Self {
        self.options = self.options.fitted_to(method);
        if !idle::moves(ESP_SUITE, &self.options, method) {
            self.esp_suites = Self::default().esp_suites;
        }
        self
    }

    /// The suites of the IKE SA, the usual one if nobody asked for others.
    pub(super) fn ike_suites(&self, method: Method) -> Vec<Suite> {
        let usual = if method.phase1().is_some() { DEFAULT_IKEV1 } else { DEFAULT_IKE };
        let usual = || vec![Suite::ike(usual).expect("a test parses the default suites")];
        self.ike_suites.clone().unwrap_or_else(usual)
    }

    /// Refuses what does not go together.
    pub(super) fn check(
        &self,
        method: Method,
        blame: &Item,
        (network_item, network): (&Item, &Network),
    ) -> Result<(), ScenarioError> {
        self.check_fault(method, blame)?;
        // RFC 8200 §5: every IPv6 link has an MTU of at least 1280 bytes.
        if self.options.ipv6 && network.mtu_bytes < 1280 {
            let message = format!("an MTU of {} bytes is too small for IPv6", network.mtu_bytes);
            let hint = "an `mtu` of at least 1280, or `ipv6 = false` in `[options]`";
            return Err(network_item.spot.error(message, "this network").hint(hint));
        }
        if self.options.virtual_address && self.options.mode == Mode::Transport {
            let message = "a virtual address needs tunnel mode";
            return Err(blame.spot.error(message, "`virtual_address` with `mode = \"transport\"`"));
        }
        self.options.sa_limits.check(|key| Some(value_of(blame, key)))?;
        self.check_identities(blame)?;
        self.check_signatures(method, blame)?;
        self.check_gateway_auth(method, blame)?;
        self.check_certificates(method, blame)?;
        if method.phase1().is_some() {
            ikev1::check(self, method, blame)?;
        }
        traffic::check(&self.options, blame, (network_item, network))?;
        makers::check(&self.options, method, blame)
    }

    /// What the card is called by next must be what the AAA server hears.
    fn check_identities(&self, blame: &Item) -> Result<(), ScenarioError> {
        if self.options.eap_identity || !(self.options.pseudonyms || self.options.fast_reauth > 0) {
            return Ok(());
        }
        let message = "a pseudonym or a fast re-authentication begins with an identity of its own";
        let hint = "`eap_identity = true`: what IKE passes on is the permanent one";
        Err(blame.spot.error(message, "`pseudonyms` or `fast_reauth` without `eap_identity`").hint(hint))
    }

    /// The keys of a row are of one kind.
    fn check_signatures(&self, method: Method, blame: &Item) -> Result<(), ScenarioError> {
        let options = &self.options;
        let signs = method.phase1().is_none() && options.has_ike_signatures(method);
        let kind = options.key_kind(method).filter(|_| signs);
        let (Some(schemes), Some(kind)) = (&options.signatures, kind) else { return Ok(()) };
        fit(schemes, kind).map_err(|unfit| {
            let label = format!("with `{}`", method.name());
            value_of(blame, SIGNATURES).spot.error(unfit.message, label).hint(unfit.hint)
        })
    }

    /// RFC 5998 §4: with EAP alone the method has to make a key, prove both sides and withstand who tries passwords.
    fn check_gateway_auth(&self, method: Method, blame: &Item) -> Result<(), ScenarioError> {
        let Some(message) = method.eap().and_then(|eap| eap.not_alone) else { return Ok(()) };
        if self.options.gateway_auth != GatewayAuth::EapOnly {
            return Ok(());
        }
        let label = format!("`gateway_auth = \"eap-only\"` with `{}`", method.name());
        let hint = "`gateway_auth = \"certificate\"` or `\"psk\"`";
        Err(blame.spot.error(message, label).hint(hint))
    }

    /// What is said of certificates must be of some that are shown.
    fn check_certificates(&self, method: Method, blame: &Item) -> Result<(), ScenarioError> {
        let Options { gateway_key, crls, fault, chain, .. } = self.options;
        let refuse = |key: &str, why: &str, hint: &'static str| {
            let message = format!("`{key}` means nothing to `{}` {why}", method.name());
            Err(value_of(blame, key).spot.error(message, "this value").hint(hint))
        };
        let of_gateway = gateway_key != Options::default().gateway_key;
        if of_gateway && !self.options.has_ike_signatures(method) {
            let way = self.options.gateway_auth.name();
            let why = format!("with `gateway_auth = \"{way}\"`");
            return refuse(GATEWAY_KEY, &why, "`gateway_auth = \"certificate\"`, or leave it out");
        }
        if crls && !self.options.shows_certificates(method) {
            return refuse(CRLS, "here: nobody shows a certificate", "leave it out");
        }
        // RFC 5280 §6.3: lists are of issuers, and who trusts a certificate as itself asks none.
        if fault == Some(Fault::RevokedCertificate) && method.has_chain() && chain.responder == 1 {
            return refuse(FAULT, "with a certificate that signs itself", "`chain` of 2 or more");
        }
        Ok(())
    }

    /// A fault must be one of the method's.
    fn check_fault(&self, method: Method, blame: &Item) -> Result<(), ScenarioError> {
        let Some(fault) = self.options.fault.filter(|&fault| !self.options.can_have(fault, method)) else {
            return Ok(());
        };
        let (without, needs) = if fault.concerns(method) {
            let way = self.options.gateway_auth.name();
            (format!(" with `gateway_auth = \"{way}\"`"), "nobody shows a certificate then".to_owned())
        } else {
            (String::new(), format!("it needs a method with {}", fault.wants()))
        };
        let message = format!("`fault = \"{}\"` means nothing to `{}`{without}", fault.name(), method.name());
        Err(value_of(blame, FAULT).spot.error(message, "this fault").hint(needs))
    }

    /// What differs from the default, and what was swept: `chain=4,4 suite=…`.
    pub(super) fn variant(&self, swept: &[&str]) -> String {
        let default = Self::default();
        let named = SETTINGS.iter().filter(|setting| {
            swept.contains(&setting.key) || (setting.print)(self) != (setting.print)(&default)
        });
        let words = named.map(|setting| format!("{}={}", setting.key, plain((setting.print)(self))));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The value of a key if the item is a table that has it, else the item itself.
pub(super) fn value_of<'a>(item: &'a Item, key: &str) -> &'a Item {
    item.table().ok().and_then(|table| table.get(key)).unwrap_or(item)
}

/// A TOML value without its punctuation: `["a", "b"]` is `a,b`.
fn plain(mut toml: String) -> String {
    toml.retain(|c| !"[]\" ".contains(c));
    toml
}

fn keys() -> Vec<&'static str> {
    SETTINGS.iter().map(|setting| setting.key).collect()
}

/// One combination of a sweep.
pub(super) struct Variation<'a> {
    pub(super) settings: Settings,
    /// What to show if the combination is refused.
    pub(super) blame: Option<&'a Item>,
    swept: Vec<&'static str>,
}

impl Variation<'_> {
    /// The keys to name in the variant.
    pub(super) fn swept_for(&self, method: Method) -> Vec<&'static str> {
        self.swept.iter().copied().filter(|key| tells(key, method)).collect()
    }
}

/// Every combination of the values in `suites` and `[sweep]`, the last key varying fastest.
pub(super) fn variations<'a>(
    document: &'a Table,
    base: &Settings,
) -> Result<Vec<Variation<'a>>, ScenarioError> {
    let blame = document.get("options");
    let mut variations = vec![Variation { settings: base.clone(), blame, swept: Vec::new() }];
    if let Some(item) = document.get("suites") {
        alone(SUITE, &[blame, document.get("sweep")])?;
        variations = vary(&variations, SUITE, item)?;
    }
    let Some(sweep) = document.get("sweep") else {
        return Ok(variations);
    };
    let sweep = sweep.table()?;
    sweep.only("`sweep`", &keys())?;
    for entry in &sweep.entries {
        let setting = SETTINGS.iter().find(|setting| setting.key == entry.key);
        let key = setting.map(|setting| setting.key).expect("the keys were just checked");
        let Value::List(_) = &entry.item.value else {
            return Err(entry.item.wrong("a list of values to try"));
        };
        alone(key, &[blame])?;
        variations = vary(&variations, key, &entry.item)?;
        super::limit(document, variations.len())?;
    }
    Ok(variations)
}

/// What is swept has no value besides.
fn alone(key: &str, places: &[Option<&Item>]) -> Result<(), ScenarioError> {
    let named = places.iter().flatten().find_map(|item| item.table().ok()?.entry(key));
    named.map(|entry| &entry.key_spot).map_or(Ok(()), |spot| {
        let message = format!("`{key}` has a value here and others that are swept");
        Err(spot.error(message, "never used").hint("keep one of the two"))
    })
}

/// Multiplies the combinations with the values of one more key.
fn vary<'a>(
    variations: &[Variation<'a>],
    key: &'static str,
    values: &'a Item,
) -> Result<Vec<Variation<'a>>, ScenarioError> {
    let mut product: Vec<Variation<'a>> = Vec::new();
    for variation in variations {
        let first = product.len();
        for value in values.some_elements("value")? {
            let mut settings = variation.settings.clone();
            settings.change(key, value)?;
            if product[first..].iter().any(|known| known.settings == settings) {
                let message = format!("the same value of `{key}` is there twice");
                return Err(value.spot.error(message, "again").hint("leave it out"));
            }
            let swept = variation.swept.iter().copied().chain([key]).collect();
            product.push(Variation { settings, blame: Some(value), swept });
        }
    }
    Ok(product)
}

/// `4` for both, or `[2, 4]` for device and gateway. Paper 000 has chains of two and four; longer ones are not made.
fn chain(item: &Item) -> Result<Chain, ScenarioError> {
    let length = |item: &Item| item.integer(1..=4).map(|length| length as u8);
    match item.elements() {
        [both] => Ok(Chain { initiator: length(both)?, responder: length(both)? }),
        [initiator, responder] => Ok(Chain { initiator: length(initiator)?, responder: length(responder)? }),
        _ => Err(item
            .spot
            .error("expected one or two chain lengths", "one for both, or the device's and the gateway's")),
    }
}

fn print_chain(settings: &Settings) -> String {
    let Chain { initiator, responder } = settings.options.chain;
    format!("[{initiator}, {responder}]")
}

fn print_rekey(after: Option<Duration>) -> String {
    after.map_or_else(|| quoted(NEVER), |after| quoted(&quantity::duration(after)))
}

/// `"usual"`, or schemes in order of preference.
fn named_signatures(item: &Item) -> Result<Option<Vec<SignatureScheme>>, ScenarioError> {
    if matches!(&item.value, Value::Text(word) if word == USUAL) {
        return Ok(None);
    }
    signatures(item).map(Some)
}

/// A length of RSA keys that is in the catalogue.
fn rsa_bits(item: &Item) -> Result<KeyKind, ScenarioError> {
    let bits = item.integer(1..=65_536)?;
    let named = Options::RSA_KEYS.into_iter().find(|kind| rsa_length(*kind) as u64 == bits);
    named.ok_or_else(|| item.spot.error("no such length of RSA keys", "one of 1024, 2048, 3072 and 4096"))
}

fn rsa_length(kind: KeyKind) -> usize {
    kind.rsa_bits().expect("only RSA keys can be set")
}

/// `"none"`, or one of the catalogue.
fn fault(item: &Item) -> Result<Option<Fault>, ScenarioError> {
    let all = std::iter::once(None).chain(Fault::ALL.map(Some)).collect::<Vec<_>>();
    item.pick("fault", &all, fault_name)
}

fn fault_name(fault: Option<Fault>) -> &'static str {
    fault.map_or(NO_FAULT, Fault::name)
}

fn set<T>(slot: &mut T, value: Result<T, ScenarioError>) -> Result<(), ScenarioError> {
    *slot = value?;
    Ok(())
}

/// Suites or signature schemes as a TOML list.
fn list(suites: &[impl ToString]) -> String {
    let quoted = suites.iter().map(|suite| quoted(&suite.to_string())).collect::<Vec<_>>();
    format!("[{}]", quoted.join(", "))
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
