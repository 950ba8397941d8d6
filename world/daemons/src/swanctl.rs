//! The two files of strongSwan: `strongswan.conf` for the daemon, `swanctl.conf` for its connections. There is one connection `c`
//! with named children. See swanctl.conf(5) and strongswan.conf(5).

use std::net::IpAddr;
use std::path::Path;

use crate::charon::{Addresses, Config, IkeVersion, Own, Peer, Secret};

/// Plugins of Debian's packages that IKEv2 needs; an explicit list ignores the machine's own /etc/strongswan.d.
/// `kernel-libipsec` precedes `kernel-netlink`: the first plugin that provides a feature is used.
const PLUGINS: &str = "aesni aes sha2 sha1 md5 mgf1 random nonce x509 constraints pubkey pkcs1 pkcs8 pem openssl gmp \
    curve25519 chapoly xcbc cmac hmac kdf ctr ccm gcm drbg kernel-libipsec kernel-netlink socket-default vici";

/// Further plugins for EAP: MSCHAPv2 needs MD4 and DES.
const EAP_PLUGINS: &str = "md4 des eap-identity eap-md5 eap-mschapv2 eap-gtc eap-tls eap-ttls eap-radius";

/// `swanctl.conf`.
pub(crate) fn swanctl_conf(config: &Config) -> String {
    let remote = config.remote.map_or_else(String::new, |address| format!("remote_addrs = {address}"));
    format!(
        "connections {{ c {{
  {version}
  local_addrs = {local}
  {remote}
  proposals = {ike}
  unique = never
  mobike = no
  {addresses}
  {more}
  local {{ {own}
    id = {own_id} }}
  remote {{ {peer}
    id = {peer_id} }}
  children {{ {children} }} }} }}
{pools}
secrets {{ {secrets} }}
",
        version = version(config.version),
        local = config.local,
        ike = config.ike,
        addresses = addresses(&config.addresses),
        more = config.more,
        own = own(&config.own, &by_key(config)),
        own_id = config.own_id,
        peer = peer(&config.peer, &by_key(config)),
        peer_id = config.peer_id,
        children = children(config),
        pools = pools(&config.addresses),
        secrets = secrets(&config.secrets),
    )
}

const fn version(version: IkeVersion) -> &'static str {
    match version {
        IkeVersion::V2 => "version = 2",
        IkeVersion::V1Main => "version = 1",
        IkeVersion::V1Aggressive => "version = 1\n  aggressive = yes",
    }
}

fn addresses(addresses: &Addresses) -> &'static str {
    match addresses {
        Addresses::Own => "",
        Addresses::Asks(IpAddr::V4(_)) => "vips = 0.0.0.0",
        Addresses::Asks(IpAddr::V6(_)) => "vips = ::",
        Addresses::Gives(_) => "pools = p",
    }
}

fn pools(addresses: &Addresses) -> String {
    match addresses {
        Addresses::Gives(pool) => format!("pools {{ p {{ addrs = {pool} }} }}"),
        Addresses::Own | Addresses::Asks(_) => String::new(),
    }
}

/// Authentication by a key: with IKE's own signatures, independent of those of certificates.
fn by_key(config: &Config) -> String {
    if config.signatures.is_empty() { "pubkey".into() } else { format!("ike:{}", config.signatures) }
}

fn own(own: &Own, by_key: &str) -> String {
    match own {
        Own::Psk => "auth = psk".into(),
        Own::Certificate { file } => format!("auth = {by_key}\n    certs = {file}"),
        Own::RawKey { file } => format!("auth = pubkey\n    pubkeys = {file}"),
        Own::Eap { identity, server, certificate } => {
            let own = certificate.as_ref().map_or_else(String::new, |file| format!("certs = {file}"));
            format!("auth = eap\n    eap_id = {identity}\n    aaa_id = {server}\n    {own}")
        }
    }
}

fn peer(peer: &Peer, by_key: &str) -> String {
    match peer {
        Peer::Psk => "auth = psk".into(),
        Peer::Certificate => format!("auth = {by_key}"),
        Peer::RawKey { file } => format!("auth = pubkey\n    pubkeys = {file}"),
        Peer::Radius { asks_identity: true } => "auth = eap-radius\n    eap_id = %any".into(),
        Peer::Radius { asks_identity: false } => "auth = eap-radius".into(),
        Peer::Eap { method, asks_identity } => {
            format!("auth = eap-{method}{}", if *asks_identity { "\n    eap_id = %any" } else { "" })
        }
    }
}

fn children(config: &Config) -> String {
    let child = |child: &crate::charon::Child| {
        let (name, local, remote, mode) = (&child.name, &child.local, &child.remote, child.mode);
        let esp = &config.esp;
        let remote = if remote.is_empty() { String::new() } else { format!("remote_ts = {remote}\n     ") };
        format!("{name} {{ local_ts = {local}\n     {remote}mode = {mode}\n     esp_proposals = {esp} }}")
    };
    config.children.iter().map(child).collect::<Vec<_>>().join("\n    ")
}

fn secrets(secrets: &[Secret]) -> String {
    let section = |(n, secret): (usize, &Secret)| match secret {
        Secret::Psk(key) => format!("ike-{n} {{ secret = {} }}", word(key)),
        Secret::Password { identity, password } => {
            format!("eap-{n} {{ id = {identity}\n    secret = {} }}", word(password))
        }
    };
    secrets.iter().enumerate().map(section).collect::<Vec<_>>().join("\n  ")
}

/// A secret in strongSwan's syntax: quoted text, or hexadecimal digits.
fn word(secret: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    match std::str::from_utf8(secret) {
        Ok(text) if !text.starts_with("0x") && secret.iter().all(is_plain) => format!("\"{text}\""),
        _ => {
            let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("0x{hex}")
        }
    }
}

/// `strongswan.conf` for a daemon that writes all its files into `dir`.
pub(crate) fn strongswan_conf(config: &Config, dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "charon {{
  load_modular = no
  load = {PLUGINS} {eap_plugins}
  install_virtual_ip_on = lo
  {tls}
  {aggressive}
  {daemon}
  syslog {{ daemon {{ default = -1 }}
    auth {{ default = -1 }} }}
  {log}
  plugins {{ vici {{ socket = unix://{dir}/vici }}
    {radius} }}
}}
charon-systemd {{ journal {{ default = -1 }} }}
",
        eap_plugins = if uses_eap(config) { EAP_PLUGINS } else { "" },
        tls = if config.is_tls_1_3 { "tls { version_max = 1.3 }" } else { "" },
        // Without it a responder refuses aggressive mode with a shared key, whose hash it would reveal to anybody.
        aggressive = match config.version {
            IkeVersion::V1Aggressive => "i_dont_care_about_security_and_use_aggressive_mode_psk = yes",
            IkeVersion::V1Main | IkeVersion::V2 => "",
        },
        daemon = config.daemon,
        log = if config.logs { log(&dir.to_string()) } else { String::new() },
        radius = radius(config),
    )
}

fn uses_eap(config: &Config) -> bool {
    matches!(config.own, Own::Eap { .. }) || matches!(config.peer, Peer::Radius { .. } | Peer::Eap { .. })
}

fn log(dir: &str) -> String {
    format!(
        "filelog {{ main {{ path = {dir}/charon.log
      append = no
      flush_line = yes
      ike_name = yes
      default = 2
      net = 1
      job = 1 }} }}"
    )
}

fn radius(config: &Config) -> String {
    config.radius.as_ref().map_or_else(String::new, |server| {
        format!(
            "eap-radius {{ accounting = {accounting}
      servers {{ aaa {{ address = {address}
          secret = {secret} }} }} }}",
            accounting = if server.accounting { "yes" } else { "no" },
            address = server.address,
            secret = server.secret,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_secrets_are_hexadecimal() {
        assert_eq!(word(b"lab-shared-secret"), "\"lab-shared-secret\"");
        assert_eq!(word(b"0xyz"), "0x3078797a");
        assert_eq!(word(&[0xff, 0, b'"']), "0xff0022");
    }
}
