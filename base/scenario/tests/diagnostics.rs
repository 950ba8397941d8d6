//! Error messages of wrong scenarios: one sentence, the line, the allowed values. Snapshots of the whole screen.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use keytoll_scenario::{Overrides, ScenarioError, Source, parse, read};
use miette::{GraphicalReportHandler, GraphicalTheme};

/// The error as on the command line, without colour.
fn screen(error: &ScenarioError) -> String {
    let mut out = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .with_word_splitter(textwrap::WordSplitter::NoHyphenation);
    handler.render_report(&mut out, error).unwrap();
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn wrong(text: &str) -> String {
    screen(&parse("mine.toml", text).unwrap_err())
}

/// A valid scenario with additional lines.
fn good_with(more: &str) -> String {
    format!("methods = [\"ikev2-psk\"]\nnetworks = [\"wifi-11g\"]\n{more}\n")
}

#[test]
fn unknown_names() {
    let cases = [
        "methods = [\"ikev2-psk\", \"ikev2-rsa-2048\"]\nnetworks = \"lte\"",
        "methods = \"ikev2-psk\"\nnetworks = [\"wifi-11g\", \"umts\"]",
        "methods = \"ikev2-psk\"\nnetworks = \"lte\"\ntopologies = [\"rwa\"]",
        "method = [\"ikev2-psk\"]\nnetworks = [\"wifi-11g\"]",
        "methods = \"ikev2-psk\"\n\n[[networks]]\nname = \"mine\"\nbase = \"umts-r99-46\"",
        "methods = \"ikev2-psk\"\n\n[[networks]]\nname = \"mine\"\ndelays = \"1 ms\"",
        &good_with("crypto = \"nul\""),
        &good_with("crypto = \"table\""),
        &good_with("costs = \"costs.json\""),
        &good_with("crypto = \"table\"\ncosts = \"costs.json\"\nworld = \"live\""),
        &good_with("suites = [\"aes128gcm-prfsha256-x25519\"]"),
        &good_with("suites = [\"aes128gcm16-x25519\"]"),
        &good_with("[options]\ncookie = \"always\""),
        &good_with("[options]\nfault = \"wrong-pks\""),
        &good_with("[cpus]\nue = \"pentium-m-1.6\""),
        &good_with("[cpus]\nue = { name = \"mine\" }"),
        &good_with("[options]\ntls = \"1.1\""),
        &good_with("[options]\ntls_key = \"rsa4096\""),
        &good_with("[cpus]\nphone = \"host\""),
    ];
    insta::assert_snapshot!(cases.map(wrong).join("\n\n"));
}

#[test]
fn what_ikev1_does_not_have() {
    let cases = [
        "[options]\nsuite = \"aes128gcm16-prfsha256-ecp256\"",
        "[options]\nsuite = \"aes128-sha256-x25519\"",
        "[options]\nsuite = \"aes128-sha256-prfsha1-modp2048\"",
        "[options]\nsuite = \"aes128-aesxcbc-modp2048\"",
        "[options]\nesp_suite = \"chacha20poly1305\"",
        "[options]\nchildless = true",
        "[options]\ncookies = \"always\"",
        "[options]\nfragmentation = \"600 B\"",
        "[options]\nvirtual_address = true\nmode = \"tunnel\"",
        "[options]\nrekey_ike = \"1 min\"",
        "[options]\nrsa_bits = 512",
        "[options]\nfault = \"unknown-ca\"",
    ];
    let screens = cases
        .map(|more| wrong(&format!("methods = [\"ikev1-main-psk\"]\nnetworks = [\"wifi-11g\"]\n{more}\n")));
    insta::assert_snapshot!(screens.join("\n\n"));
}

#[test]
fn what_makes_no_difference() {
    let cases = [
        good_with("[options]\ntls = \"1.2\""),
        good_with("[options]\npfs = true"),
        good_with("[sweep]\ntriplets = [2, 3]"),
        good_with("[options]\ntraffic_rate = \"64 kbit/s\""),
        good_with("[options]\ntraffic = \"bulk\"\ntraffic_interval = \"1 s\""),
        good_with("[options]\nchildless = true\nesp_suite = \"aes128gcm16\""),
        good_with("suites = [\"3des-md5-modp1024\"]\n[options]\nsuite = \"aes128gcm16-prfsha256-x25519\""),
        good_with("[options]\nmode = \"tunnel\"\n[sweep]\nmode = [\"tunnel\", \"transport\"]"),
        "methods = [\"ikev2-psk\", \"ikev1-main-psk\"]\nnetworks = \"lte\"\n[options]\nraw_keys = true"
            .to_owned(),
        "methods = \"ikev1-main-rsa\"\nnetworks = \"lte\"\n[options]\nraw_keys = true\nchain = 4".to_owned(),
        "[[row]]\nmethod = \"ikev2-psk\"\nnetwork = \"lte\"\noptions = { accounting = true }".to_owned(),
        good_with("exponents = \"full\""),
        "methods = \"hip-bex\"\nnetworks = \"lte\"\nsuites = [\"aes128gcm16-prfsha256-x25519\"]".to_owned(),
        good_with("cpus = { ue = \"mips-125\", hss = \"p4-3000\" }"),
        "methods = \"wpa2-psk\"\nnetworks = \"wlan-11g\"\n[options]\nroaming = \"fast-transition\""
            .to_owned(),
    ];
    insta::assert_snapshot!(cases.each_ref().map(|text| wrong(text)).join("\n\n"));
}

#[test]
fn wrong_populations() {
    let of = |more: &str| good_with(&format!("[population]\ndevices = 1000\n{more}"));
    let cases = [
        good_with("population = 5"),
        good_with("[population]\narrivals = \"constant 5/s\""),
        of(""),
        of("arrival = \"constant 5/s\""),
        of("arrivals = \"constantly 5/s\""),
        of("arrivals = \"constant 5\""),
        of("arrivals = \"storm 5000 in 10 s\""),
        of("arrivals = \"constant 5/s for 10 s\""),
        of("arrivals = \"constant 1/h\""),
        of("arrivals = [\"constant 5/s\", \"constant 6/s\"]"),
        of("arrivals = [\"5 at a time\"]"),
        of("arrivals = \"2000 at a time\""),
        of("arrivals = \"constant 5/s\"\nstay = \"normal 5 s\""),
        of("arrivals = \"constant 5/s\"\nmoves = \"5 min\""),
        of("arrivals = \"constant 5/s\"\nreauthenticate = \"5 min\""),
        of("arrivals = \"constant 5/s\"\nwrong = \"200 %\""),
        of("arrivals = \"constant 5/s\"\nmix = { ikev2-pks = 1 }"),
        of("arrivals = \"constant 5/s\"\nmix = {}"),
        of("arrivals = \"constant 5/s\"\nmix = { ikev2-eap-aka = 1 }"),
        of("arrivals = \"constant 5/s\"\nhss_store = \"1 ms\""),
        of("arrivals = \"constant 5/s\"\nhss_store = \"1 ms\"\n[options]\nhss_store = \"1 ms\"")
            .replace("psk", "eap-aka"),
        of("arrivals = \"constant 5/s\"\ngateways = 65"),
        of("arrivals = \"constant 5/s\"\ngateway_lost = \"1 at 30 s\""),
        of("arrivals = \"constant 5/s\"\ngateways = 4\ngateway_lost = \"5 at 30 s\""),
        of("arrivals = \"constant 5/s\"\ngateways = 4\ngateway_lost = \"1 at 30 s\"\nliveness = \"10 s\""),
        of("arrivals = \"constant 5/s\"\ngateways = 4\ngateway_lost = \"1 at 30 s\"\nduration = \"60 s\""),
        of(
            "arrivals = \"constant 5/s\"\ngateways = 4\ngateway_lost = \"1 at 70 s\"\nliveness = \"10 s\"\nduration = \"60 s\"",
        ),
        of("arrivals = \"constant 5/s\"\nliveness = \"90 s\"\nduration = \"60 s\""),
        good_with("samples = 3\n[population]\ndevices = 1\narrivals = \"1 at a time\""),
        good_with("world = \"live\"\n[population]\ndevices = 1\narrivals = \"1 at a time\""),
        of("arrivals = \"constant 5/s\"\n[options]\nreauth_lifetime = \"60 s\""),
        of("arrivals = \"constant 5/s\"\n[options]\nfault = \"wrong-psk\""),
    ];
    insta::assert_snapshot!(cases.each_ref().map(|text| wrong(text)).join("\n\n"));
}

/// What makes no difference in a population is refused; defaults may be written out.
#[test]
fn what_populations_ignore() {
    let of = |method: &str, more: &str| {
        let population = "[population]\ndevices = 10\narrivals = \"constant 5/s\"\nduration = \"1 min\"";
        format!("methods = \"{method}\"\nnetworks = \"lte\"\n{population}\n{more}")
    };
    let cases = [
        of("ikev2-psk", "stay = \"uniform 61 s to 2 min\""),
        of("ikev2-psk", "reauthenticate = \"61 s\""),
        of("ikev2-psk", "moves = \"61 s\""),
        of("ikev2-psk", "[sweep]\nreauth_lifetime = [\"8 s\", \"9 s\"]"),
        of("hip-dex", "[options]\nunused_after = \"9 s\""),
        of("hip-dex", "[options]\nrekey_bytes = \"10 kB\""),
        of("ikev2-psk", "[options]\nrekey_packets = 2"),
        of("ikev2-psk", "[options]\nlife_bytes = \"10 kB\""),
        of("ikev2-psk", "[options]\nlife_packets = 1"),
    ];
    insta::assert_snapshot!(cases.each_ref().map(|text| wrong(text)).join("\n\n"));
    for (method, more) in [
        ("ikev2-psk", "stay = \"exponential 2 min\""),
        ("ikev2-psk", "reauthenticate = \"59 s\"\n[options]\nreauth_lifetime = \"8 s\"\nrekey_packets = 1"),
        ("ikev1-main-psk", "[options]\nlife_bytes = \"10 kB\""),
    ] {
        parse("population", &of(method, more)).unwrap();
    }
}

/// What a row's family cannot populate is told at the key that is to blame, with what to do.
#[test]
fn populations_that_no_family_has() {
    let of = |head: &str, more: &str| {
        let devices = if more.contains("devices = ") { "" } else { "devices = 50\n" };
        format!(
            "networks = \"wlan-11g\"\n{head}\n[population]\n{devices}arrivals = \"constant 20/s\"\n{more}"
        )
    };
    let psk = "methods = [\"wpa2-psk\"]";
    let mix = |one: &str, other: &str| {
        of(&format!("methods = [\"{one}\", \"{other}\"]"), &format!("mix = {{ {one} = 1, {other} = 1 }}"))
    };
    let cases = [
        of(psk, "wrong = \"10 %\""),
        of(psk, "gateways = 2"),
        of(psk, "moves = \"1 s\"\nduration = \"10 s\""),
        of(psk, "devices_per_link = 2"),
        of(psk, "devices = 2008"),
        of(psk, "[options]\nroam_after = \"2 s\""),
        of(psk, "[options]\nroaming = \"fast-transition\""),
        of("methods = [\"wpa2-psk\", \"rrkm\"]", ""),
        of("methods = \"hip-bex\"", ""),
        of("methods = \"hip-bex\"", "[options]\nhost_identity = \"rsa3072\""),
        of("methods = \"ikev1-main-rsa\"", "[options]\nraw_keys = true"),
        mix("wpa2-psk", "wpa3-sae"),
        mix("hip-dex", "hip-dex-aka"),
        mix("ikev2-psk", "hip-dex"),
        of("methods = [\"ikev2-psk\", \"ikev2-rsa2048\"]", "mix = { ikev2-psk = 1, ikev2-rsa2048 = 100000 }"),
    ];
    insta::assert_snapshot!(cases.each_ref().map(|text| wrong(text)).join("\n\n"));
    for fine in [
        of(psk, "devices = 2008\nstay = \"10 s\""),
        of("methods = \"wpa2-eap-tls\"", "wrong = \"10 %\""),
        of("methods = \"hip-bex\"", "[options]\nhost_identity = \"ed25519\""),
        of("methods = [\"wpa2-psk\", \"wpa3-sae\"]", ""),
        mix("ikev2-psk", "ikev1-main-psk"),
    ] {
        parse("population", &fine).unwrap();
    }
}

/// What comes after the end, or when every device has left, never comes.
#[test]
fn times_of_populations_that_never_come() {
    let of = |method: &str, more: &str| {
        let population = "[population]\ndevices = 10\narrivals = \"constant 5/s\"";
        format!("methods = \"{method}\"\nnetworks = \"loopback\"\n{population}\n{more}")
    };
    let brief = "duration = \"10 s\"";
    let short = "duration = \"20 s\"\nstay = \"1 s\"";
    let cases = [
        of("ikev2-psk", &format!("{brief}\n[options]\nrekey_ike = \"1 h\"")),
        of("hip-dex", &format!("{brief}\n[sweep]\nrekey_child = [\"1 s\", \"1 h\"]")),
        of("wpa2-psk", &format!("{brief}\n[options]\ngroup_rekey = \"1 h\"")),
        of("ikev2-psk", &format!("{short}\nreauthenticate = \"10 s\"")),
        of("ikev2-psk", &format!("{short}\nmoves = \"uniform 2 s to 10 s\"")),
        of("ikev2-psk", &format!("{short}\nliveness = \"10 s\"")),
        of("ikev2-psk", &format!("{short}\n[options]\nrekey_child = \"10 s\"")),
        of("ikev2-psk", "stay = \"uniform 1 s to 9 s\"\n[options]\nrekey_ike = \"10 s\""),
    ];
    insta::assert_snapshot!(cases.each_ref().map(|text| wrong(text)).join("\n\n"));
    for fine in [
        of("ikev2-psk", "duration = \"20 s\"\nstay = \"exponential 1 s\"\nreauthenticate = \"10 s\""),
        of("ikev2-psk", "duration = \"20 s\"\nstay = \"uniform 1 s to 15 s\"\nliveness = \"10 s\""),
        // Whoever attaches elsewhere just before it would leave goes when it has the outcome.
        of("ikev2-psk", &format!("{short}\nmoves = \"900 ms\"\nreauthenticate = \"10 s\"")),
        of("wpa2-psk", &format!("{short}\n[options]\ngroup_rekey = \"10 s\"")),
        of("ikev2-psk", &format!("{brief}\n[options]\nrekey_child = \"10 s\"")),
    ] {
        parse("population", &fine).unwrap();
    }
}

#[test]
fn what_is_there_twice() {
    let row = "[[row]]\nmethod = \"ikev2-psk\"\nnetwork = \"lte\"\n";
    let cases = [
        "methods = [\"ikev2-psk\", \"ikev2-psk\"]\nnetworks = \"lte\"",
        "methods = \"ikev2-psk\"\nnetworks = [\"lte\", { name = \"lte\", base = \"wifi-11g\" }]",
        "methods = \"ikev2-psk\"\nnetworks = \"lte\"\ntopologies = [\"raw\", \"flat\", \"raw\"]",
        &good_with("suites = [\"3des-md5-modp1024\", \"3des-md5-modp1024\"]"),
        &good_with("[sweep]\nrekey_child = [\"60 s\", \"1 min\"]"),
        &format!("{row}{row}"),
    ];
    insta::assert_snapshot!(cases.map(wrong).join("\n\n"));
}

#[test]
fn values_of_a_wrong_kind() {
    let cases = [
        good_with("samples = \"30\""),
        good_with("samples = 0"),
        good_with("seed = -1"),
        good_with("seed = 1979-05-27"),
        good_with("interval = 10"),
        good_with("interval = \"10 sec\""),
        good_with("interval = \"10\""),
        good_with("interval = \"0 s\""),
        good_with("[options]\nchain = [1, 2, 3]"),
        good_with("[options]\nchain = 5"),
        good_with("[options]\nreauth_lifetime = \"1.5 s\""),
        good_with("[options]\nchildless = \"yes\""),
        good_with("[options]\nretransmit_base = 0.5"),
        good_with("[options]\ntls = 1.4"),
        good_with("[options]\neap_fragment = 100"),
        good_with("[options]\neap_fragment = \"4 kB\""),
        good_with("[options]\neap_fragment = true"),
        good_with("[options]\nresumption = \"always\""),
        good_with("[sweep]\nmode = \"tunnel\""),
        good_with("[sweep]\nmode = []"),
        good_with("[options]\nreplay_window = 16"),
        good_with("[options]\nreplay_window = \"64\""),
        good_with("[options]\nrekey_bytes = 1000000"),
        good_with("[options]\nlife_bytes = \"10 B\""),
        good_with("[options]\nrekey_packets = \"often\""),
        good_with("[options]\nlife_packets = 0"),
        good_with("title = \"two\\nlines\""),
    ];
    insta::assert_snapshot!(cases.each_ref().map(|text| wrong(text)).join("\n\n"));
}

#[test]
fn what_does_not_go_together() {
    let cases = [
        "",
        "methods = \"ikev2-psk\"",
        "methods = []\nnetworks = \"lte\"",
        "methods = \"ikev2-psk\"\nnetworks = { name = \"small\", mtu = 600 }",
        "methods = \"ikev2-psk\"\nnetworks = { delay = \"1 ms\" }",
        &good_with("[[row]]\nmethod = \"ikev2-psk\"\nnetwork = \"lte\""),
        "[[row]]\nmethod = \"ikev2-psk\"",
        &good_with("[options]\nmode = \"transport\"\nvirtual_address = true"),
        &good_with("[options]\nsuite = \"null-sha256-x25519\""),
        &good_with("[options]\nsuite = \"aes128gmac-prfsha256-x25519\""),
        &good_with("[options]\nfault = \"wrong-password\""),
        &good_with("[sweep]\nfault = [\"none\", \"wrong-psk\", \"unknown-ca\"]"),
        &good_with("crypto = \"null\"\n[options]\nfault = \"wrong-psk\""),
        "[[row]]\nmethod = \"ikev2-eap-aka\"\nnetwork = \"lte\"\noptions = { pseudonyms = true }",
        "[[row]]\nmethod = \"ikev2-eap-md5\"\nnetwork = \"lte\"\noptions = { gateway_auth = \"eap-only\" }",
        "[[row]]\nmethod = \"ikev2-eap-mschapv2\"\nnetwork = \"lte\"\noptions = { gateway_auth = \"eap-only\" }",
        "[[row]]\nmethod = \"ikev2-eap-md5\"\nnetwork = \"lte\"\noptions = { gateway_auth = \"psk\", fault = \"unknown-ca\" }",
        "[[row]]\nmethod = \"ikev2-eap-aka\"\nnetwork = \"lte\"\noptions = { gateway_auth = \"psk\", certificate = \"ed25519\" }",
        "[[row]]\nmethod = \"ikev2-eap-aka\"\nnetwork = \"lte\"\noptions = { gateway_auth = \"eap-only\", crls = true }",
        "[[row]]\nmethod = \"ikev2-rsa2048\"\nnetwork = \"lte\"\noptions = { chain = 1, fault = \"revoked-certificate\" }",
        &good_with("[options]\ntraffic = \"constant\"\nchildless = true"),
        "methods = \"ikev2-ecdsa-p256\"\nnetworks = \"lte\"\n[options]\nsignatures = [\"ecdsa-sha384\", \"rsa-pss-sha256\"]",
        "methods = \"ikev2-rsa2048\"\nnetworks = \"lte\"\n[options]\nsignatures = \"rsa-pss-sha1\"",
        &good_with("[options]\nrekey_bytes = \"2 MB\"\nlife_bytes = \"1 MB\""),
        &good_with("[options]\nlife_packets = 2000\n[sweep]\nrekey_packets = [1000, 2000]"),
        &good_with("[options]\ntraffic = \"bulk\"\ntraffic_packet = \"100 B\""),
        "methods = \"ikev2-psk\"\nnetworks = \"loopback\"\n[options]\ntraffic = \"bulk\"",
        "methods = \"ikev2-psk\"\nnetworks = \"lte\"\nworld = \"live\"\n[options]\ntraffic = \"icmp\"",
        &good_with(
            "[sweep]\nhalf_open_max = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22]\nretransmit_tries = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22]\nchain = [1,2,3,4]\nchildless = [true, false]\nvirtual_address = [true, false]\ncookies = [\"always\", \"never\"]",
        ),
    ];
    insta::assert_snapshot!(cases.map(wrong).join("\n\n"));
}

/// A live scenario of one method with options.
fn live(method: &str, options: &str) -> String {
    format!("world = \"live\"\nmethods = [\"{method}\"]\nnetworks = [\"loopback\"]\n[options]\n{options}\n")
}

/// A device moves while its association lives, in the simulator, and with traffic that goes along.
#[test]
fn stores_that_cannot_be() {
    let stored = |more: &str| {
        format!("methods = \"hip-dex-aka\"\nnetworks = \"lte\"\n{more}\n[options]\nhss_store = \"65 ms\"\n")
    };
    let cases = [
        stored("").replace("65 ms", "65"),
        stored("").replace("hip-dex-aka", "hip-dex"),
        stored("world = \"live\""),
    ];
    insta::assert_snapshot!(cases.each_ref().map(|text| wrong(text)).join("\n\n"));
}

#[test]
fn moves_that_cannot_be() {
    let moving = |head: &str, options: &str| {
        format!("{head}methods = \"hip-dex\"\nnetworks = \"lte\"\n[options]\nmove_after = \"9 s\"\n{options}")
    };
    let cases = [
        moving("", ""),
        moving("", "unused_after = \"5 s\"\ntraffic = \"icmp\"\ntraffic_duration = \"4 s\""),
        moving("", "unused_after = \"20 s\"\ntraffic = \"icmp\"\nipsec = \"none\""),
        moving("world = \"live\"\n", "unused_after = \"20 s\""),
        moving("", "").replace("hip-dex", "ikev2-psk"),
    ];
    insta::assert_snapshot!(cases.each_ref().map(|text| wrong(text)).join("\n\n"));
}

/// Frames go over no other link, an access point with the EAP server inside asks nobody, and no IP packet is fragmented.
#[test]
fn what_wireless_lans_cannot_do() {
    let lan = |method: &str, network: &str, options: &str| {
        format!("methods = \"{method}\"\nnetworks = \"{network}\"\n[options]\n{options}")
    };
    let cases = [
        lan("wpa2-psk", "lte", ""),
        lan("rrkm", "umts-r99-64", ""),
        lan("wpa2-eap-aka", "wlan-11g", "eap_server = \"access-point\""),
        lan("wpa2-eap-tls", "wlan-11g", "eap_server = \"access-point\"\naccounting = true"),
        lan("wpa2-eap-tls", "wlan-11g", "eap_server = \"access-point\"\nfault = \"aaa-silent\""),
        lan("wpa2-psk", "wlan-11g", "traffic = \"constant\"\ntraffic_packet = \"1501 B\""),
        lan("rrkm", "wlan-11g", "rrkm_period = \"1500 ms\""),
        lan("rrkm", "wlan-11g", "clock_drift = 0.5"),
        lan("wpa2-eap-tls", "wlan-11g", "quiet_period = \"2 h\""),
        lan("wpa3-sae", "wlan-11g", "management_protection = \"never\""),
    ];
    insta::assert_snapshot!(cases.each_ref().map(|text| wrong(text)).join("\n\n"));
}

#[test]
fn what_other_makers_programs_cannot_do() {
    const TUNNEL: &str = "mode = \"tunnel\"\nvirtual_address = true\n";
    let tunnel = |method, more: &str| live(method, &format!("{TUNNEL}{more}"));
    let cases = [
        live("ikev2-psk", "gw = \"freeradius\""),
        live("ikev2-psk", "gw = \"strongswan\""),
        tunnel("ikev2-eap-aka", "ue = \"strongswan\""),
        tunnel("ikev2-eap-peap-mschapv2", "ue = \"strongswan\""),
        tunnel("ikev2-eap-tls", "ue = \"strongswan\""),
        tunnel("ikev2-psk", "gw = \"strongswan\"\ncookies = \"always\""),
        tunnel("ikev2-psk", "gw = \"strongswan\"\nfault = \"wrong-psk\""),
        tunnel("ikev2-eap-tls", "gw = \"strongswan\"\ngateway_auth = \"eap-only\""),
        live("ikev2-eap-aka", "aaa = \"freeradius\""),
        live("ikev2-eap-peap-mschapv2", "aaa = \"hostapd\""),
        live("ikev2-eap-sim", "aaa = \"hostapd\"\ntriplets = 2"),
        live("ikev2-eap-md5", "aaa = \"hostapd\"\naccounting = true"),
        live("ikev2-eap-md5", "aaa = \"hostapd\"").replace("\"live\"", "\"sim\""),
        format!("crypto = \"null\"\n{}", live("ikev2-eap-md5", "aaa = \"hostapd\"")),
        format!("{}[cpus]\nue = \"mips-125\"", live("ikev2-psk", "")),
    ];
    insta::assert_snapshot!(cases.each_ref().map(|text| wrong(text)).join("\n\n"));
}

#[test]
fn what_is_not_toml() {
    let cases = [
        "methods = [\"ikev2-psk\"",
        "methods = ikev2-psk",
        "samples = 1\nsamples = 2",
        "seed = 99999999999999999999999999999999999999999",
    ];
    insta::assert_snapshot!(cases.map(wrong).join("\n\n"));
}

#[test]
fn files_that_cannot_be_read() {
    let folder = std::env::temp_dir().join(format!("keytoll-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let latin1 = folder.join("latin1.toml");
    std::fs::write(&latin1, b"title = \"caf\xe9\"").unwrap();
    let long = folder.join("capture.toml");
    std::fs::write(&long, vec![b'#'; 5 << 20]).unwrap();
    let shown = |path: &Path| screen(&read(path).unwrap_err()).replace(folder.to_str().unwrap(), "FOLDER");
    let screens = [shown(Path::new("missing.toml")), shown(&folder), shown(&latin1), shown(&long)];
    std::fs::remove_dir_all(&folder).unwrap();
    insta::assert_snapshot!(screens.join("\n\n"));
}

#[test]
fn names_of_scenarios() {
    let shown = |name| screen(&Source::find(name).unwrap_err());
    insta::assert_snapshot!([shown("quikstart"), shown("tempest"), shown("quickstart.tml")].join("\n\n"));
}

#[test]
fn overrides_are_judged_like_the_file() {
    let shown = |arguments: &[&str]| {
        let source = Source::builtin("quickstart").unwrap();
        screen(&Overrides::parse(arguments).and_then(|overrides| source.plan(&overrides)).unwrap_err())
    };
    let screens = [
        shown(&["samples"]),
        shown(&["samples=0"]),
        shown(&["sampels=3"]),
        shown(&["options.mode=tunel"]),
        shown(&["samples=3", "networks=[\"lte\", \"wify-11g\"]"]),
        shown(&["samples.a=3"]),
        shown(&["options..a=3"]),
        shown(&["methods=[\"ikev2-psk\""]),
        shown(&["networks=lte", "networks=wifi-11g"]),
        shown(&["options.mode=tunnel", "options={ childless = true }"]),
        shown(&["options.rsa_bits=2048"]),
    ];
    insta::assert_snapshot!(screens.join("\n\n"));
}

#[test]
fn errors_know_their_line_and_column() {
    let error = parse("mine.toml", "title = \"ü\"\nmethods = [\"nothing\"]").unwrap_err();
    assert_eq!(error.location(), Some(("mine.toml", 2, 12)));
    assert_eq!(error.to_string(), "unknown method `nothing`");
}

#[test]
fn a_radio_channel_has_its_own_rates_and_is_simulated() {
    let said = |text: &str| parse("air.toml", text).unwrap_err().to_string();
    let custom = |more: &str| {
        format!("methods = \"ikev2-psk\"\nnetworks = {{ name = \"cell\", air = \"802.11b\"{more} }}\n")
    };
    assert!(parse("air.toml", &custom("")).is_ok());
    assert!(
        said(&custom(", down = \"1 Mbit/s\""))
            .contains("a radio channel has its own rates, and `down` has no effect")
    );
    assert!(said(&custom("").replace("802.11b", "802.11z")).contains("unknown radio channel `802.11z`"));
    let live = format!("world = \"live\"\n{}", custom(""));
    assert!(said(&live).contains("the radio channel of `cell` exists in the simulator only"));
}
