//! Foreign daemons in the rig of IKE: what it has, in the configuration of charon, FreeRADIUS and hostapd.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use keytoll_crypto::{Real, keys};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Seed, credentials};
use keytoll_daemons::aaa::{Client, Methods, Tls};
use keytoll_daemons::charon::{self, Addresses, Child, Credential, Kind, Own, Peer, Radius};
use keytoll_daemons::freeradius::{self, User};
use keytoll_daemons::vici::Vici;
use keytoll_daemons::{Charon, FreeRadius, Hostapd, Trouble, Usage, hostapd};
use keytoll_eap::simaka::flavour::Flavour;
use keytoll_eap::simaka::identity::permanent;
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::vector::Triplet;
use keytoll_ike::names::message_name;
use keytoll_ike::v1::number::QUICK_MODE;
use keytoll_pki::pem;
use keytoll_rig::{Goal, Rig};
use keytoll_rigs::back_end::{self, AMF, IMSI, Secrets, card};
use keytoll_rigs::ike::{Credentials, IkeRig, Sites, esp_suites, row_secret};
use keytoll_rigs::{AAA_ID, Certificates, GW_ID, UE_ID};
use keytoll_scenario::catalogue::eap::{Foreign, Proof, Words};
use keytoll_scenario::catalogue::{EapMethod, Method};
use keytoll_scenario::families::ike::{Auth, Exchange, Phase1};
use keytoll_scenario::plan::{Maker, Plan, RowPlan, TlsVersion};
use keytoll_trace::{Name, Node};

use super::{Daemon, Initiator, Order};
use crate::foreign;
use crate::testbed::LiveError;

/// charon as device or gateway, FreeRADIUS and hostapd as AAA server.
pub(super) struct IkeDaemons;

impl foreign::StandIns for IkeDaemons {
    fn run(&self, method: &Method) -> bool {
        IkeRig.runs(method)
    }

    fn check(&self, row: &RowPlan) -> Result<(), Trouble> {
        let makers = row.options.makers;
        if [makers.ue, makers.gw].contains(&Maker::StrongSwan) {
            Charon::check()?;
        }
        match makers.aaa {
            Maker::FreeRadius => FreeRadius::check(),
            Maker::Hostapd => Hostapd::check(row.method.has_card()),
            Maker::Keytoll | Maker::StrongSwan => Ok(()),
        }
    }

    fn notes(&self, row: &RowPlan) -> Vec<&'static str> {
        let makers = row.options.makers;
        let ike = if makers.ue.is_foreign() { makers.ue } else { makers.gw };
        let is_unseen = makers.gw.is_foreign() && (makers.ue.is_foreign() || makers.aaa.is_foreign());
        let can_race = makers.gw == Maker::StrongSwan && row.method.phase1() == Some(Phase1::Aggressive);
        let more = [(is_unseen, NOTE_UNSEEN), (can_race, NOTE_RACE)];
        let more = more.into_iter().filter(|(is_true, _)| *is_true).map(|(_, note)| note);
        [note(ike), note(makers.aaa)].into_iter().filter(|note| !note.is_empty()).chain(more).collect()
    }

    fn prepare(&self, plan: &Plan) -> Box<dyn foreign::Prepared> {
        Box::new(Credentials::prepare(plan))
    }
}

impl foreign::Prepared for Credentials {
    fn start(&self, order: &Order<'_>) -> Result<Box<dyn Daemon>, LiveError> {
        let &Order { row, seed, placement, node, place, dir, has_many_devices } = order;
        let sites = Sites::of(row, placement);
        let configured = Configured { row, seed, sites: &sites, credentials: self, has_many_devices };
        let program = match row.options.makers.of(node) {
            Maker::FreeRadius => {
                Program::FreeRadius(FreeRadius::start(place, dir, &configured.freeradius(dir)?)?)
            }
            Maker::Hostapd => Program::Hostapd(Hostapd::start(place, dir, &configured.hostapd(dir)?)?),
            Maker::StrongSwan | Maker::Keytoll => {
                Program::Charon(Charon::start(place, dir, &configured.charon(node))?)
            }
        };
        Ok(Box::new(program))
    }

    fn load(&self, order: &Order<'_>) -> Result<String, LiveError> {
        let &Order { row, seed, placement, node, dir, has_many_devices, .. } = order;
        let sites = Sites::of(row, placement);
        let configured = Configured { row, seed, sites: &sites, credentials: self, has_many_devices };
        if node == Node::Ue { configured.load(dir) } else { configured.load_of_radius(dir) }
    }
}

/// One of them, running.
enum Program {
    Charon(Charon),
    FreeRadius(FreeRadius),
    Hostapd(Hostapd),
}

impl Daemon for Program {
    fn usage(&self) -> Option<Usage> {
        match self {
            Self::Charon(charon) => charon.usage(),
            Self::FreeRadius(server) => server.usage(),
            Self::Hostapd(server) => server.usage(),
        }
    }

    fn initiator(&self) -> Result<Box<dyn Initiator>, Trouble> {
        match self {
            Self::Charon(charon) => Ok(Box::new(charon.vici()?)),
            Self::FreeRadius(_) | Self::Hostapd(_) => {
                Err(Trouble::NotAllowed("an AAA server begins nothing"))
            }
        }
    }
}

impl Initiator for Vici {
    fn initiate(&mut self, goal: Goal) -> Result<(), String> {
        let what = if goal == Goal::Sa { ("ike", "c") } else { ("child", CHILD) };
        self.run("initiate", &[what, ("timeout", "600000"), ("loglevel", "-1")])
            .map_err(|why| why.to_string())
    }

    /// What came of it when it failed, an IKE SA without child for one, must not be left to the next; and where there is
    /// nothing, that is no failure.
    fn terminate(&mut self) {
        let _ = self.run("terminate", &[("ike", "c"), ("timeout", "20000"), ("loglevel", "-1")]);
    }

    fn last_message(&self) -> Name {
        message_name(QUICK_MODE, false)
    }
}

const NOTE_UNSEEN: &str =
    "What foreign daemons say to each other is not seen: the link between them is absent and not emulated";

/// Seen in charon's log: `ignoring QUICK_MODE request while phase 1 is incomplete`.
const NOTE_RACE: &str = "Aggressive mode's last message and quick mode's first leave one after the other, and charon 5.9.8 \
                         drops the second if one of its threads has it before another is done with the first: then the \
                         device waits for its retransmission";

/// How it runs, for whoever reads its figures.
const fn note(maker: Maker) -> &'static str {
    match maker {
        Maker::StrongSwan => {
            "strongSwan is Debian's charon, log off, its own ESP in user space through a TUN device; its cpu is that of all \
             its threads, read from /proc around each authentication, and has the installing of SAs, routes and \
             addresses in it"
        }
        Maker::FreeRadius => {
            "FreeRADIUS is Debian's, one worker thread, log off; its cpu is that of all its threads, read from /proc"
        }
        Maker::Hostapd => {
            "hostapd is Debian's, with hlr_auc_gw for cards; its cpu is that of both, read from /proc, and their vectors \
             need no HSS"
        }
        Maker::Keytoll => "",
    }
}

/// A row in the words of their configuration files.
struct Configured<'a> {
    row: &'a RowPlan,
    seed: &'a Seed,
    sites: &'a Sites,
    credentials: &'a Credentials,
    has_many_devices: bool,
}

impl Configured<'_> {
    /// The devices of a load call the gateway, and prove themselves as the device of the row does.
    fn load(&self, dir: &Path) -> Result<String, LiveError> {
        let (sites, options) = (self.sites, &self.row.options);
        let eap = self.row.method.eap();
        let psk = format!("{{ psk = {{ hex = \"{}\" }} }}", hex(&row_secret(self.seed)));
        let peer_auth = match self.credentials.of(self.row) {
            Some(set) if !options.ike.raw_keys => {
                let root = dir.join("gw-root.crt");
                let written = pem::write_certificates(&root, std::slice::from_ref(&set.gw_anchor));
                written.map_err(|why| LiveError::Notes(why.to_string()))?;
                format!("{{ roots = {root:?} }}")
            }
            _ => psk.clone(),
        };
        let auth = match (auth(self.row.method), self.credentials.of(self.row)) {
            (Auth::SharedKey, _) => psk,
            (Auth::Eap, _) => "\"eap\"".to_owned(),
            (Auth::Signature, Some(set)) if !options.ike.raw_keys => {
                let [certificate, key] = ["ue.crt", "ue.key"].map(|name| dir.join(name));
                let written = pem::write_certificates(&certificate, &set.ue.chain)
                    .and_then(|()| pem::write_private_key(&key, &private_key(&set.ue)));
                written.map_err(|why| LiveError::Notes(why.to_string()))?;
                format!("{{ certificate = {certificate:?}, key = {key:?} }}")
            }
            (Auth::Signature, _) => {
                let why = format!("no load is made of {} yet", self.row.method.name());
                return Err(LiveError::Node { node: Node::Ue.name(), why });
            }
        };
        let [suites, esp_suites] = [proposals(&self.row.suites), proposals(&esp_suites(self.row))];
        let method = eap.map_or_else(String::new, |eap| format!("method = {:?}\n", eap.name));
        let fragments = options.ike.fragment_bytes;
        let fragments =
            fragments.map_or_else(String::new, |bytes| format!("fragmentation = \"{bytes} B\"\n"));
        Ok(format!(
            "role = \"load\"\ntarget = \"{}\"\n{method}{fragments}[connection]\npeer = {GW_ID:?}\nauth = {auth}\n\
             peer_auth = {peer_auth}\nsuites = {suites:?}\nesp_suites = {esp_suites:?}\nvirtual_address = {}\n{}",
            SocketAddr::from((sites.gw, 500)),
            options.ike.virtual_address,
            self.identities(dir)?
        ))
    }

    /// The access servers of a load call the AAA server, in the place of the gateway.
    fn load_of_radius(&self, dir: &Path) -> Result<String, LiveError> {
        let (sites, eap) = (&self.sites.back_end, self.eap()?);
        Ok(format!(
            "role = \"load\"\ntarget = \"{}\"\nlocal = \"{}\"\nsecret = {{ hex = \"{}\" }}\nmethod = {:?}\n{}",
            SocketAddr::from((sites.aaa, sites.ports.radius)),
            sites.core,
            hex(&self.secrets().radius),
            eap.name,
            self.identities(dir)?
        ))
    }

    /// The credentials of EAP, and the name of all devices: the last table, which lacks the number of names.
    fn identities(&self, dir: &Path) -> Result<String, LiveError> {
        let eap = self.row.method.eap();
        let mut text = String::new();
        if let Some(set) = self.credentials.tls(self.row) {
            let (root, tls) = (dir.join("aaa-root.crt"), &self.row.options.tls);
            let written = pem::write_certificates(&root, std::slice::from_ref(&set.gw_anchor));
            written.map_err(|why| LiveError::Notes(why.to_string()))?;
            text = format!(
                "[tls]\nroots = {root:?}\nserver_name = {AAA_ID:?}\nversions = [\"{}\"]\nfragment = \"{} B\"\nresumption = false\n",
                tls.version.name(),
                tls.fragment_bytes
            );
            if eap.is_some_and(|eap| eap.proof == Proof::Certificate) {
                let [certificate, key] = ["eap.crt", "eap.key"].map(|name| dir.join(name));
                let written = pem::write_certificates(&certificate, &set.ue.chain)
                    .and_then(|()| pem::write_private_key(&key, &private_key(&set.ue)));
                written.map_err(|why| LiveError::Notes(why.to_string()))?;
                text += &format!("certificate = {certificate:?}\nkey = {key:?}\n");
            }
        }
        text += &format!("[identities]\npattern = {UE_ID:?}\n");
        if eap.is_some_and(EapMethod::has_password) {
            text += &format!("password = {{ hex = \"{}\" }}\n", hex(&self.secrets().password));
        }
        Ok(text)
    }

    fn charon(&self, node: Node) -> charon::Config {
        let (is_device, sites, options) = (node == Node::Ue, self.sites, &self.row.options);
        charon::Config {
            version: version(self.row.method),
            local: if is_device { sites.ue } else { sites.gw },
            remote: is_device.then_some(sites.gw),
            ike: proposals(&self.row.suites),
            esp: proposals(&esp_suites(self.row)),
            own: if is_device { self.device_proves() } else { self.gateway_proves() },
            own_id: if is_device { UE_ID } else { GW_ID }.to_owned(),
            peer: if is_device { self.device_believes() } else { self.gateway_believes() },
            peer_id: self.peer_id(is_device).to_owned(),
            addresses: match (sites.inner_of_device(self.row), is_device) {
                (Some(_), _) => Addresses::Own,
                (None, true) => asks(sites.inner),
                (None, false) => Addresses::Gives(pool(sites)),
            },
            children: self.children(is_device),
            secrets: self.known(),
            files: if is_device { self.device_files() } else { self.gateway_files() },
            radius: (!is_device && self.row.method.eap().is_some()).then(|| self.radius()),
            signatures: "",
            is_tls_1_3: options.tls.version == TlsVersion::Tls13,
            more: self.more(),
            daemon: self.timers(),
            logs: false,
        }
    }

    /// More lines of the connection.
    fn more(&self) -> String {
        let fragmentation =
            if self.row.options.ike.fragment_bytes.is_some() { "" } else { "fragmentation = no\n" };
        // One device of a name is not to replace the others.
        let unique = if self.has_many_devices { "unique = never" } else { "" };
        format!("{fragmentation}{unique}")
    }

    fn device_proves(&self) -> Own {
        let eap = self.row.method.eap();
        match auth(self.row.method) {
            Auth::SharedKey => Own::Psk,
            Auth::Signature => self.signs(),
            Auth::Eap => Own::Eap {
                identity: UE_ID.to_owned(),
                server: AAA_ID.to_owned(),
                certificate: eap
                    .is_some_and(|eap| eap.proof == Proof::Certificate)
                    .then(|| CERTIFICATE.to_owned()),
            },
        }
    }

    fn gateway_proves(&self) -> Own {
        if self.credentials.of(self.row).is_some() { self.signs() } else { Own::Psk }
    }

    fn signs(&self) -> Own {
        match self.row.options.ike.raw_keys {
            true => Own::RawKey { file: OWN_PUBLIC_KEY.to_owned() },
            false => Own::Certificate { file: CERTIFICATE.to_owned() },
        }
    }

    fn device_believes(&self) -> Peer {
        if self.credentials.of(self.row).is_some() { self.signature_of_peer() } else { Peer::Psk }
    }

    fn signature_of_peer(&self) -> Peer {
        match self.row.options.ike.raw_keys {
            true => Peer::RawKey { file: PEER_PUBLIC_KEY.to_owned() },
            false => Peer::Certificate,
        }
    }

    fn gateway_believes(&self) -> Peer {
        match auth(self.row.method) {
            Auth::SharedKey => Peer::Psk,
            Auth::Signature => self.signature_of_peer(),
            Auth::Eap => Peer::Radius { asks_identity: self.row.options.eap.asks_identity },
        }
    }

    fn peer_id(&self, is_device: bool) -> &'static str {
        match (is_device, self.row.method.eap()) {
            (true, _) => GW_ID,
            (false, None) => UE_ID,
            (false, Some(_)) => "%any",
        }
    }

    fn children(&self, is_device: bool) -> Vec<Child> {
        if self.row.options.ike.childless {
            return Vec::new();
        }
        let host = |ip: IpAddr| format!("{ip}/{}", if ip.is_ipv6() { 128 } else { 32 });
        let gateway = host(self.sites.inner);
        let (local, remote) = match (self.sites.inner_of_device(self.row).map(host), is_device) {
            (Some(device), true) => (device, gateway),
            (Some(device), false) => (gateway, device),
            (None, true) => ("dynamic".to_owned(), gateway),
            (None, false) => (gateway, String::new()),
        };
        vec![Child { name: CHILD.to_owned(), local, remote, mode: "tunnel" }]
    }

    fn secrets(&self) -> Secrets {
        Secrets::of(self.seed)
    }

    fn known(&self) -> Vec<charon::Secret> {
        let psk = charon::Secret::Psk(row_secret(self.seed).to_vec());
        let password = self.secrets().password.to_vec();
        vec![psk, charon::Secret::Password { identity: UE_ID.to_owned(), password }]
    }

    /// What it shows in IKE or EAP-TLS, and whom it trusts in either.
    fn device_files(&self) -> Vec<Credential> {
        let (ike, tls) = (self.credentials.of(self.row), self.credentials.tls(self.row));
        if let Some(set) = ike.filter(|_| self.row.options.ike.raw_keys) {
            return known_keys(&set.ue, &set.gw);
        }
        let in_ike = ike.filter(|_| self.row.method.eap().is_none());
        let in_tls = tls.filter(|_| self.row.method.eap().is_some_and(|eap| eap.proof == Proof::Certificate));
        let own = in_ike.or(in_tls).into_iter().flat_map(|set| shown(&set.ue));
        let trusted = ike.into_iter().chain(tls).enumerate();
        own.chain(trusted.map(|(n, set)| authority(&format!("root-{n}.crt"), &set.gw_anchor))).collect()
    }

    fn gateway_files(&self) -> Vec<Credential> {
        let Some(set) = self.credentials.of(self.row) else { return Vec::new() };
        if self.row.options.ike.raw_keys {
            return known_keys(&set.gw, &set.ue);
        }
        let own = shown(&set.gw);
        own.into_iter().chain([authority("root.crt", &set.ue_anchor)]).collect()
    }

    fn radius(&self) -> Radius {
        Radius {
            address: self.sites.back_end.aaa,
            secret: text(&self.secrets().radius),
            accounting: self.row.options.eap.accounting,
        }
    }

    /// Retransmission and fragmentation as the row has them; no limit on the rounds of EAP.
    fn timers(&self) -> String {
        let (options, retransmission) = (&self.row.options, self.row.options.ike.retransmission);
        let fragment =
            options.ike.fragment_bytes.map_or_else(String::new, |bytes| format!("fragment_size = {bytes}"));
        format!(
            // Each authentication begins anew, also after one whose child was refused.
            "reuse_ikesa = no\n  retransmit_timeout = {}\n  retransmit_base = {}\n  retransmit_tries = {}\n  {fragment}\n  {many}",
            retransmission.first.as_secs_f64(),
            retransmission.base,
            retransmission.tries,
            // More than a few half-open SAs of one address are refused otherwise.
            many = if self.has_many_devices { "dos_protection = no" } else { "" },
        )
    }

    fn client(&self) -> Client {
        Client { address: self.sites.back_end.core, secret: text(&self.secrets().radius) }
    }

    fn freeradius(&self, dir: &Path) -> Result<freeradius::Config, LiveError> {
        let methods = methods(self.eap()?, |eap| &eap.freeradius)?;
        Ok(freeradius::Config {
            listen: (self.sites.back_end.aaa, self.sites.back_end.ports.radius).into(),
            around: None,
            client: self.client(),
            methods,
            tls: self.tls(dir)?,
            users: vec![self.user(self.eap()?)],
            logs: false,
        })
    }

    /// The EAP method, without which nobody asks an AAA server.
    fn eap(&self) -> Result<&'static EapMethod, LiveError> {
        let why = || format!("`{}` has no EAP method for it", self.row.method.name());
        self.row.method.eap().ok_or_else(|| LiveError::Node { node: Node::Aaa.name(), why: why() })
    }

    fn user(&self, eap: &EapMethod) -> User {
        let name = UE_ID.to_owned();
        match (eap.proof, card(eap)) {
            (_, Some(flavour)) => {
                User::Sim { name: subscriber(flavour), triplets: [1, 2, 3].map(|n| self.triplet(n)) }
            }
            (Proof::Certificate, _) => User::Certificate { name },
            _ => User::Password { name, password: text(&self.secrets().password) },
        }
    }

    fn triplet(&self, n: u8) -> freeradius::Triplet {
        let Secrets { key, opc, .. } = self.secrets();
        let card = Milenage::with_opc(&key, &opc);
        let Triplet { rand, sres, kc } = Triplet::from_milenage(&card, [n; 16], &mut Real::default());
        freeradius::Triplet { rand, sres: sres.to_vec(), kc: kc.to_vec() }
    }

    fn hostapd(&self, dir: &Path) -> Result<hostapd::Config, LiveError> {
        let eap = self.eap()?;
        let flavour = card(eap);
        let access =
            hostapd::Access::Radius { port: self.sites.back_end.ports.radius, client: self.client() };
        Ok(hostapd::Config {
            access,
            methods: methods(eap, |eap| &eap.hostapd)?,
            user: flavour.map_or_else(|| UE_ID.to_owned(), subscriber),
            password: text(&self.secrets().password),
            subscriber: flavour.map(|_| self.subscriber()),
            has_pseudonyms: false,
            tls: self.tls(dir)?,
            logs: false,
        })
    }

    fn subscriber(&self) -> hostapd::Subscriber {
        let Secrets { key, opc, .. } = self.secrets();
        let [key, opc] = [key, opc].map(u128::from_be_bytes);
        hostapd::Subscriber { imsi: IMSI.to_owned(), key, opc, amf: AMF, sqn: 32 }
    }

    /// Writes what the AAA server shows and trusts in TLS.
    fn tls(&self, dir: &Path) -> Result<Option<Tls>, LiveError> {
        let Some(set) = self.credentials.tls(self.row) else { return Ok(None) };
        let [certificate, key, root] = ["aaa.crt", "aaa.key", "root.crt"].map(|name| dir.join(name));
        write_pem(set, [&certificate, &key, &root]).map_err(|why| LiveError::Notes(why.to_string()))?;
        let tls = &self.row.options.tls;
        Ok(Some(Tls {
            certificate,
            key,
            root,
            is_1_3: tls.version == TlsVersion::Tls13,
            fragment_bytes: tls.fragment_bytes,
            resumption: tls.resumption,
        }))
    }
}

/// The child SA's name in charon's configuration.
const CHILD: &str = "net";
/// The name of a daemon's own certificate.
const CERTIFICATE: &str = "own.crt";
/// The names of public keys without certificates.
const OWN_PUBLIC_KEY: &str = "own.pub";
const PEER_PUBLIC_KEY: &str = "peer.pub";

fn auth(method: &Method) -> Auth {
    method.own::<Exchange>().expect("charon is a device or a gateway of methods of IKE").auth
}

fn version(method: &Method) -> charon::IkeVersion {
    match method.phase1() {
        None => charon::IkeVersion::V2,
        Some(Phase1::Main) => charon::IkeVersion::V1Main,
        Some(Phase1::Aggressive) => charon::IkeVersion::V1Aggressive,
    }
}

fn write_pem(set: &Certificates, [certificate, key, root]: [&PathBuf; 3]) -> Result<(), pem::FileError> {
    pem::write_certificates(certificate, &set.gw.chain)?;
    pem::write_private_key(key, &private_key(&set.gw))?;
    pem::write_certificates(root, std::slice::from_ref(&set.ue_anchor))
}

fn private_key(credential: &credentials::Credential) -> Vec<u8> {
    keys::to_pkcs8(&credential.key).expect("rows with foreign daemons have real keys").to_vec()
}

/// A key pair, and the public key of the peer.
fn known_keys(own: &credentials::Credential, peer: &credentials::Credential) -> Vec<Credential> {
    let file =
        |kind, name: &str, bytes: &[u8]| Credential { kind, name: name.to_owned(), bytes: bytes.to_vec() };
    vec![
        file(Kind::Key, "own.key", &private_key(own)),
        file(Kind::PublicKey, OWN_PUBLIC_KEY, &own.key.spki),
        file(Kind::PublicKey, PEER_PUBLIC_KEY, &peer.key.spki),
    ]
}

/// A certificate with its intermediate ones and its key.
fn shown(credential: &credentials::Credential) -> Vec<Credential> {
    let (own, rest) = credential.chain.split_first().expect("a credential has a certificate");
    let file =
        |kind, name: &str, bytes: &[u8]| Credential { kind, name: name.to_owned(), bytes: bytes.to_vec() };
    let above = rest.iter().enumerate().map(|(n, bytes)| authority(&format!("above-{n}.crt"), bytes));
    [file(Kind::Certificate, CERTIFICATE, own), file(Kind::Key, "own.key", &private_key(credential))]
        .into_iter()
        .chain(above)
        .collect()
}

fn authority(name: &str, bytes: &[u8]) -> Credential {
    Credential { kind: Kind::Authority, name: name.to_owned(), bytes: bytes.to_vec() }
}

/// Suites in strongSwan's words, which are ours.
fn proposals(suites: &[Suite]) -> String {
    suites.iter().map(Suite::to_string).collect::<Vec<_>>().join(",")
}

fn asks(inner: IpAddr) -> Addresses {
    Addresses::Asks(if inner.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() })
}

/// The laboratory's pool; IPv6's is a prefix, of IPv4's strongSwan takes the ends.
fn pool(sites: &Sites) -> String {
    let (first, size) = (sites.pool.first, sites.pool.size);
    match first {
        IpAddr::V4(ip) => format!("{ip}-{}", Ipv4Addr::from(u32::from(ip) + size - 1)),
        IpAddr::V6(ip) => format!("{ip}/{}", 128 - size.ilog2()),
    }
}

fn text(secret: &[u8]) -> String {
    String::from_utf8_lossy(secret).into_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

fn subscriber(flavour: Flavour) -> String {
    permanent(flavour, back_end::imsi(), "lab")
}

/// A method in the words of one AAA server. What it has not got was refused with the plan, and is refused here again.
fn methods(eap: &EapMethod, server: fn(&EapMethod) -> &Foreign<Words>) -> Result<Methods, LiveError> {
    match server(eap).words() {
        Some(Words { own, inside }) => Ok(Methods { proposed: own, allowed: own, inside }),
        None => {
            let why = format!("the program has no EAP method `{}`", eap.name);
            Err(LiveError::Node { node: Node::Aaa.name(), why })
        }
    }
}
