//! Table crypto: what a table says is charged to virtual time and to the books, the same on any machine and any number of
//! threads; and what is wrong with a table is told in a sentence.

#![allow(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use keytoll_lab::{Directory, Program, RunError, Stop, machine, manifest, run};
use keytoll_scenario::plan::Plan;
use keytoll_scenario::population::Spread;
use keytoll_scenario::{Overrides, Source};
use keytoll_trace::cost_table::{
    AuthenticationLoad, AuthenticationPrice, CostTable, DaemonCosts, OperationPrice,
};
use keytoll_trace::file::Reader;
use keytoll_trace::{Cost, Fact, Node, Record};

/// A directory that is removed in the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-table-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What an authentication with a shared key and x25519 does, each at a price that can be told apart.
const PRICES: [(&str, &str, f64, f64); 6] = [
    ("generate", "x25519", 1_000_000.0, 0.0),
    ("agree", "x25519", 2_000_000.0, 0.0),
    ("hash", "sha1", 0.0, 0.0),
    ("prf", "prfsha256", 100.0, 1.0),
    ("encrypt", "aes128gcm16", 10.0, 0.5),
    ("decrypt", "aes128gcm16", 10.0, 0.5),
];

/// The echo's own packets.
const TRAFFIC: [(&str, &str, f64, f64); 2] =
    [("encrypt-traffic", "aes128gcm16", 10.0, 0.5), ("decrypt-traffic", "aes128gcm16", 10.0, 0.5)];

fn write(path: &Path, prices: &[(&str, &str, f64, f64)]) {
    let price = |&(operation, algorithm, fixed_ns, ns_per_byte): &(&str, &str, f64, f64)| OperationPrice {
        operation: operation.into(),
        algorithm: algorithm.into(),
        exponents: None,
        fixed_ns,
        ns_per_byte,
        n: 1,
        spread: 0.0,
    };
    let machine = keytoll_trace::manifest::Machine { core_hz: 2e9, ..machine() };
    let mut table = CostTable::new("0.1.0", 0, machine, "a library");
    table.costs = prices.iter().map(price).collect();
    table.write(std::fs::File::create(path).unwrap()).unwrap();
}

fn plan(costs: &Path, more: &str) -> Plan {
    let text = format!(
        "methods = ['ikev2-psk']\nnetworks = ['wifi-11g']\nsuites = ['aes128gcm16-prfsha256-x25519']\nsamples = 4\n\
         crypto = 'table'\ncosts = '{}'\n{more}\n",
        costs.display()
    );
    Source::text("table.toml", &text).plan(&Overrides::default()).unwrap()
}

fn go(plan: &Plan, threads: usize, out: &Path) -> Result<(), RunError> {
    let directory = Directory::create(out, manifest(plan, &Program::default()), false)?;
    run(plan, threads, &directory, &|| (), &Stop::new(false))?;
    directory.publish().map(|_| ())
}

fn traces(out: &Path, rows: usize) -> Vec<Vec<u8>> {
    (0..rows).map(|row| std::fs::read(out.join(format!("trace/{row:03}.trace"))).unwrap()).collect()
}

/// From the trigger to the usable SA, per authentication, in nanoseconds.
fn delays(out: &Path) -> Vec<u64> {
    let file = std::io::BufReader::new(std::fs::File::open(out.join("trace/000.trace")).unwrap());
    let mut begun = 0;
    let mut delays = Vec::new();
    for record in Reader::<Record, _>::new(file).unwrap() {
        let record = record.unwrap();
        match record.fact {
            Fact::Triggered => begun = record.at_ns,
            Fact::Usable => delays.push(record.at_ns - begun),
            _ => {}
        }
    }
    delays
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let place = Place::new("threads");
    let costs = place.file("costs.json");
    write(&costs, &[&PRICES[..], &TRAFFIC].concat());
    let plan = plan(&costs, "seed = 7\n[sweep]\nmode = ['tunnel', 'transport']");
    let (one, four) = (place.file("one"), place.file("four"));
    go(&plan, 1, &one).unwrap();
    go(&plan, 4, &four).unwrap();
    assert_eq!(traces(&one, plan.rows.len()), traces(&four, plan.rows.len()));
    assert!(traces(&one, plan.rows.len()).iter().all(|trace| trace.len() > 1000));
}

#[test]
fn what_the_table_says_is_charged_to_virtual_time_and_scaled_by_cpu_profiles() {
    let place = Place::new("charged");
    let (free, costs) = (place.file("free.json"), place.file("costs.json"));
    let nothing =
        PRICES.iter().chain(&TRAFFIC).map(|&(operation, algorithm, ..)| (operation, algorithm, 0.0, 0.0));
    write(&free, &nothing.collect::<Vec<_>>());
    write(&costs, &[&PRICES[..], &TRAFFIC].concat());
    let delays_of = |costs: &Path, more: &str, name: &str| {
        let out = place.file(name);
        go(&plan(costs, more), 1, &out).unwrap();
        delays(&out)
    };
    let (null, charged) = (delays_of(&free, "", "free"), delays_of(&costs, "", "charged"));
    let slow = delays_of(
        &costs,
        "[cpus]\nue = { name = 'slow', frequency = '1 GHz', cores = 1 }\ngw = { name = 'slow', frequency = '1 GHz', cores = 1 }",
        "slow",
    );
    assert_eq!((null.len(), charged.len(), slow.len()), (4, 4, 4));
    for ((null, charged), slow) in null.iter().zip(&charged).zip(&slow) {
        // Each side generates and agrees once: 6 ms. The rest costs microseconds.
        let (crypto, slowed) = (charged - null, slow - null);
        assert!((6_000_000..6_200_000).contains(&crypto), "{crypto}");
        // The table's machine has 2 GHz. Steps are charged in whole nanoseconds.
        assert!(slowed.abs_diff(2 * crypto) < 100, "{slowed} {crypto}");
    }
}

/// How much longer each of three authentications takes when the HSS waits 65 ms for its store; both runs have the same seed.
fn longer_with_store(place: &Place, method: &str, options: &str) -> Vec<u64> {
    let text = format!(
        "methods = ['{method}']\nnetworks = ['lte']\ntopologies = ['centralized']\nsamples = 3\ncrypto = 'table'\n\
         costs = 'reference'\n[options]\n{options}"
    );
    let mut plan = Source::text("store.toml", &text).plan(&Overrides::default()).unwrap();
    let of = |plan: &Plan, name: &str| {
        let out = place.file(&format!("{method}-{name}"));
        go(plan, 1, &out).unwrap();
        delays(&out)
    };
    let without = of(&plan, "without");
    plan.rows[0].options.hss_store = Some(Spread::Fixed(Duration::from_millis(65)));
    let with = of(&plan, "with");
    without.iter().zip(with).map(|(before, after)| after - before).collect()
}

#[test]
fn a_store_delays_each_authentication_that_asks_the_hss_by_exactly_its_wait() {
    let place = Place::new("store");
    assert_eq!(longer_with_store(&place, "hip-dex-aka", ""), [65_000_000; 3]);
    // The first authentication brings vectors for the two others.
    let batch = longer_with_store(&place, "ikev2-eap-aka", "vector_batch = 3\n");
    assert_eq!(batch, [65_000_000, 0, 0]);
}

#[test]
fn the_books_are_the_tables() {
    let place = Place::new("books");
    let costs = place.file("costs.json");
    write(&costs, &[&PRICES[..], &TRAFFIC].concat());
    let out = place.file("out");
    go(&plan(&costs, ""), 1, &out).unwrap();
    let file = std::io::BufReader::new(std::fs::File::open(out.join("costs/000.costs")).unwrap());
    let costs: Vec<Cost> = Reader::<Cost, _>::new(file).unwrap().map(Result::unwrap).collect();
    let mut checked = 0;
    for cost in &costs {
        match cost {
            Cost::OperationIn(_, operation) if operation.operation == "agree" => {
                assert_eq!((operation.count, operation.ns), (4, 8_000_000));
                checked += 1;
            }
            Cost::Sample(sample) => {
                assert_eq!(sample.cpu_ns, sample.crypto_ns);
                assert!((3_000_000..3_100_000).contains(&sample.cpu_ns), "{sample:?}");
                checked += 1;
            }
            _ => {}
        }
    }
    assert_eq!(checked, 2 + 2 * 4);
}

/// The table of a daemon at 1 GHz: an authentication costs 600 us, 200 us for each of three responses of IKE.
fn write_daemon(path: &Path, method: &str) {
    let load = AuthenticationLoad {
        utilisation: 0.1,
        rate_per_s: 100.0,
        cpu_us: 600.0,
        cpu_us_ci95: None,
        kernel_share: 0.25,
        delay_ms_p50: 2.0,
        delay_ms_p99: 3.0,
        n: 100,
        rounds_count: 1,
    };
    let price = AuthenticationPrice {
        method: method.into(),
        role: "gw".into(),
        protocol: "ike".into(),
        responses_count: 3.0,
        loads: vec![load],
    };
    let machine = keytoll_trace::manifest::Machine { core_hz: 1e9, cpu: "a cpu".into(), ..machine() };
    let mut table = CostTable::new("0.1.0", 0, machine, "");
    table.daemon = Some(DaemonCosts {
        name: "strongswan".into(),
        version: "5.9.8".into(),
        configuration: "log off".into(),
        cores_count: 1,
        authentications: vec![price],
    });
    table.write(std::fs::File::create(path).unwrap()).unwrap();
}

/// CPU and cryptography of a node for each authentication, in nanoseconds.
fn cpu_of(out: &Path, node: Node) -> Vec<(u64, u64)> {
    let file = std::io::BufReader::new(std::fs::File::open(out.join("costs/000.costs")).unwrap());
    let costs = Reader::<Cost, _>::new(file).unwrap().map(Result::unwrap);
    let of = |cost| match cost {
        Cost::Sample(sample) if sample.node == node => Some((sample.cpu_ns, sample.crypto_ns)),
        _ => None,
    };
    costs.filter_map(of).collect()
}

#[test]
fn a_node_with_the_costs_of_a_daemon_pays_for_its_responses_and_not_for_cryptography() {
    let place = Place::new("daemon");
    let (costs, daemon) = (place.file("costs.json"), place.file("daemon.json"));
    write(&costs, &[&PRICES[..], &TRAFFIC].concat());
    write_daemon(&daemon, "ikev2-psk");
    let of = |name: &str, more: &str| {
        let out = place.file(name);
        let cpus = format!("[cpus]\ngw = {{ costs = '{}'{more} }}", daemon.display());
        go(&plan(&costs, if name == "own" { "" } else { &cpus }), 1, &out).unwrap();
        out
    };
    let (own, foreign, slow) = (of("own", ""), of("foreign", ""), of("slow", ", frequency = '500 MHz'"));
    assert_eq!(cpu_of(&own, Node::Ue), cpu_of(&foreign, Node::Ue), "it has its own costs");
    assert!(cpu_of(&own, Node::Gw).iter().all(|(cpu, crypto)| cpu == crypto && *cpu > 3_000_000));
    // Two responses until the SA is usable; the one that closes it comes after.
    assert_eq!(cpu_of(&foreign, Node::Gw), [(400_000, 0); 4]);
    assert_eq!(cpu_of(&slow, Node::Gw), [(400_000, 0); 4], "host CPU time is that of the table's machine");
    let extra = |out: &Path| delays(out).iter().zip(delays(&foreign)).map(|(a, b)| a - b).collect::<Vec<_>>();
    assert_eq!(extra(&slow), [400_000; 4], "and takes twice as long at half the frequency");
    let manifest = std::fs::read_to_string(foreign.join("manifest.json")).unwrap();
    assert!(manifest.contains("cpu of gw is that of strongswan 5.9.8 (log off) on a cpu"), "{manifest}");
}

#[test]
fn costs_of_a_daemon_are_refused_where_they_do_not_belong() {
    let place = Place::new("misplaced");
    let (costs, daemon) = (place.file("costs.json"), place.file("daemon.json"));
    write(&costs, &[&PRICES[..], &TRAFFIC].concat());
    write_daemon(&daemon, "ikev2-rsa2048");
    let refused = |costs: &Path, more: &str| {
        let error = keytoll_lab::refuse(&plan(costs, more)).unwrap_err().to_string();
        error.replace(&*place.0.to_string_lossy(), "DIR")
    };
    let gw = |path: &Path| format!("[cpus]\ngw = {{ costs = '{}' }}", path.display());
    assert_eq!(
        refused(&costs, &gw(&daemon)),
        "`DIR/daemon.json` has no costs of ikev2-psk for gw, only of ikev2-rsa2048; calibrate it with this method, too"
    );
    assert!(
        refused(&daemon, "").starts_with("`DIR/daemon.json` has the costs of a daemon; name it for a node")
    );
    assert!(refused(&costs, &gw(&costs)).starts_with("`DIR/costs.json` has no costs of a daemon;"));
    assert_eq!(refused(&costs, &gw(&place.file("no.json"))), "the cost table `DIR/no.json` does not exist");
}

#[test]
fn a_missing_price_is_told_by_name() {
    let place = Place::new("missing");
    let costs = place.file("costs.json");
    write(&costs, &[&PRICES[..5], &TRAFFIC].concat());
    let error = go(&plan(&costs, ""), 1, &place.file("out")).unwrap_err().to_string();
    let expected = format!(
        "the cost table `{}` has no `decrypt aes128gcm16`, which ikev2-psk needs; calibrate again",
        costs.display()
    );
    assert_eq!(error, expected);
}

#[test]
fn a_file_that_is_no_table_is_told_so() {
    let place = Place::new("wrong");
    let refusal = |path: &Path| go(&plan(path, ""), 1, &place.file("out")).unwrap_err().to_string();
    let absent = place.file("absent.json");
    assert!(refusal(&absent).ends_with("does not exist"));
    let foreign = place.file("foreign.json");
    std::fs::write(&foreign, "{ \"format\": 1 }").unwrap();
    assert!(refusal(&foreign).contains("is no cost table: it does not say"), "{}", refusal(&foreign));
    assert!(refusal(&place.0).contains("cannot be read"), "{}", refusal(&place.0));
    let unknown = place.file("unknown.json");
    write(&unknown, &[("teleport", "x25519", 1.0, 0.0)]);
    assert!(refusal(&unknown).ends_with("`teleport x25519` is no operation of this keytoll"));
}
