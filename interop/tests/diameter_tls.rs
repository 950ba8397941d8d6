//! Diameter in TLS with programs that are not ours: freeDiameter as either peer, and `openssl` for what no Diameter peer
//! would do. Read RFC 6733 §13.1 and §5.3 first. The HSS is at the AAA server's place, who asks it at the gateway's.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use keytoll_daemons::process::Process;
use keytoll_interop::run::{finish, wait_for};
use keytoll_interop::{KeyKind, Lab, Node, Peer, Pki, Trouble, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");
const LIMIT: Duration = Duration::from_secs(20);
/// RFC 6733 §2.1.
const PORT: u16 = 5658;
const HSS: Node = Node::Aaa;
const ASKER: Node = Node::Gw;
const HSS_NAME: &str = "aaa.lab";
const ASKER_NAME: &str = "gw.lab";

/// Both ends of the wire between gateway and AAA server.
fn address(lab: &Lab, node: Node) -> IpAddr {
    let aaa = lab.spot(Node::Aaa).address();
    let IpAddr::V4(of_aaa) = aaa else { unreachable!("the lab's wires have IPv4") };
    let [a, b, c, _] = of_aaa.octets();
    if node == Node::Aaa { aaa } else { [a, b, c, 2].into() }
}

fn tls(table: &str, pki: &Pki, node: Node, peer: &str) -> String {
    format!(
        "[{table}]\ncertificate = {:?}\nkey = {:?}\nroots = {:?}\npeer_names = {peer:?}\n",
        pki.certificate(node),
        pki.key(node),
        pki.root_certificate()
    )
}

fn hss(lab: &Lab, pki: &Pki) -> Result<Peer, Trouble> {
    let spot = lab.spot(HSS).running("hss", address(lab, HSS));
    let text = format!(
        "role = \"hss\"\nlisten = \"{}\"\nname = {HSS_NAME:?}\nrealm = \"lab\"\npeers = \"{}\"\n{}\
         [[subscriber]]\nimsi = \"001010000000001\"\nk = \"5122250214c33e723a5dd523fc145fc0\"\n\
         opc = \"981d464c7c52eb6e5036234984ad0bcf\"\n",
        spot.address(),
        address(lab, ASKER),
        tls("tls", pki, HSS, ASKER_NAME)
    );
    Peer::of_file(&spot, PROGRAM, &text)
}

fn asker(lab: &Lab, pki: &Pki) -> Result<Peer, Trouble> {
    let spot = lab.spot(ASKER).running("aaa", address(lab, ASKER));
    let text = format!(
        "role = \"aaa\"\nlisten = \"{}\"\nname = {ASKER_NAME:?}\nmethods = \"aka\"\n\
         [clients]\n\"10.99.1.1\" = \"nobody's\"\n[hss]\nserver = \"{}\"\nrealm = \"lab\"\n{}",
        spot.address(),
        address(lab, HSS),
        tls("hss.tls", pki, ASKER, HSS_NAME)
    );
    Peer::of_file(&spot, PROGRAM, &text)
}

/// freeDiameter as one of the two; who it is to be connected with, and at which port it calls that.
fn free_diameter(
    lab: &Lab,
    pki: &Pki,
    node: Node,
    (name, peer): (&str, &str),
    (to, port): (IpAddr, u16),
) -> Result<Process, Trouble> {
    let file = lab.dir(node).join("freeDiameter.conf");
    let text = format!(
        "Identity = {name:?};\nRealm = \"lab\";\nPort = 0;\nSecPort = {PORT};\nNo_SCTP;\nNo_IPv6;\nListenOn = \"{}\";\n\
         TcTimer = 6;\nTwTimer = 6;\nTLS_Cred = {:?}, {:?};\nTLS_CA = {:?};\n\
         ConnectPeer = {peer:?} {{ ConnectTo = \"{to}\"; Port = {port}; }};\n",
        address(lab, node),
        pki.certificate(node),
        pki.key(node),
        pki.root_certificate()
    );
    fs::write(&file, text)
        .map_err(|source| Trouble::File { what: format!("write {}", file.display()), source })?;
    let mut command = lab.command(node, "freeDiameterd");
    command.arg("-c").arg(&file).arg("-dd");
    let mut process = Process::start("freeDiameter", command, lab.dir(node).join("stdout"))?;
    process.await_ready(LIMIT, |process| process.output().contains("daemon initialized").then_some(()))?;
    Ok(process)
}

fn await_words(process: &Process, words: &str) -> Result<(), Trouble> {
    wait_for(words, LIMIT, || process.output().contains(words).then_some(()), || process.last_words())
}

fn await_traced(peer: &Peer, words: &str) -> Result<(), Trouble> {
    wait_for(words, LIMIT, || (peer.traced(words) > 0).then_some(()), || peer.last_words())
}

#[test]
fn free_diameter_is_the_server() {
    let Some(lab) = lab_or_skip() else { return };
    for kind in [KeyKind::EcdsaP256, KeyKind::Rsa2048] {
        serves(&lab, kind).unwrap_or_else(|why| panic!("{kind:?}: {why}"));
    }
}

fn serves(lab: &Lab, kind: KeyKind) -> Result<(), Trouble> {
    let pki = Pki::make(lab.shared_dir(), kind)?;
    // Nobody answers at the port of nothing: it waits to be called.
    let nobody = (address(lab, ASKER), 9);
    let server = free_diameter(lab, &pki, HSS, (HSS_NAME, ASKER_NAME), nobody)?;
    let asker = asker(lab, &pki)?;
    await_words(&server, "Connected to 'gw.lab' (TCP,TLS")?;
    await_words(&server, "-> 'STATE_OPEN'\t'gw.lab'")?;
    assert_eq!(asker.traced("discarded"), 0, "{}", asker.last_words());
    Ok(())
}

#[test]
fn free_diameter_is_the_client() {
    let Some(lab) = lab_or_skip() else { return };
    calls(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn calls(lab: &Lab) -> Result<(), Trouble> {
    let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
    let hss = hss(lab, &pki)?;
    let to = (address(lab, HSS), PORT);
    let client = free_diameter(lab, &pki, ASKER, (ASKER_NAME, HSS_NAME), to)?;
    await_words(&client, "Connected to 'aaa.lab' (TCP,TLS")?;
    // Its watchdog (RFC 3539 §3.4) after six seconds.
    await_traced(&hss, "sent DWA")?;
    assert_eq!(hss.traced("discarded"), 0, "{}", hss.last_words());
    Ok(())
}

/// AVP, RFC 6733 §4.1: mandatory, padded.
fn avp(code: u32, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(8 + data.len()).expect("short");
    let padding = vec![0; data.len().next_multiple_of(4) - data.len()];
    [&code.to_be_bytes()[..], &(0x4000_0000 | length).to_be_bytes(), data, &padding].concat()
}

/// CER, RFC 6733 §5.3.1, with what we read of it.
fn capabilities(host: &str) -> Vec<u8> {
    let avps = [avp(264, host.as_bytes()), avp(296, b"lab")].concat();
    let length = u32::try_from(20 + avps.len()).expect("short");
    [&(0x0100_0000 | length).to_be_bytes()[..], &0x8000_0101_u32.to_be_bytes(), &[0; 4], &[7; 8], &avps]
        .concat()
}

/// `openssl s_client` towards the HSS, with these arguments.
fn s_client(lab: &Lab, pki: &Pki, more: &[&str]) -> Result<Child, Trouble> {
    let mut command = lab.command(ASKER, "openssl");
    command.args(["s_client", "-quiet", "-verify_return_error", "-connect"]);
    command
        .arg(format!("{}:{PORT}", address(lab, HSS)))
        .arg("-CAfile")
        .arg(pki.root_certificate())
        .args(more);
    start(command)
}

fn start(mut command: Command) -> Result<Child, Trouble> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let what = || keytoll_interop::run::line(&command);
    let what = what();
    command.spawn().map_err(|source| Trouble::Start { command: what, source })
}

/// Says something through it, and gives what comes back as hexadecimal digits, until as many bytes or the end.
fn ask(client: &mut Child, said: &[u8], bytes_max: usize) -> String {
    // It may have been hung up on already.
    let _ = client.stdin.as_mut().expect("piped").write_all(said);
    let mut answer = vec![0; bytes_max];
    let (mut got, stdout) = (0, client.stdout.as_mut().expect("piped"));
    while let Ok(count @ 1..) = stdout.read(&mut answer[got..]) {
        got += count;
    }
    answer[..got].iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}

fn end(mut client: Child) -> String {
    drop(client.stdin.take());
    // It may have ended.
    let _ = client.kill();
    let mut said = String::new();
    let _ = client.stderr.take().expect("piped").read_to_string(&mut said);
    let _ = client.wait();
    said
}

#[test]
fn openssl_is_a_client_with_a_certificate_or_none() {
    let Some(lab) = lab_or_skip() else { return };
    by_openssl(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn by_openssl(lab: &Lab) -> Result<(), Trouble> {
    let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
    let hss = hss(lab, &pki)?;
    let file = |path: std::path::PathBuf| path.display().to_string();
    let (certificate, key) = (file(pki.certificate(ASKER)), file(pki.key(ASKER)));
    let own = ["-cert", &certificate, "-key", &key];
    const SUCCESS: &str = "0000010c4000000c000007d1";
    const UNKNOWN_PEER: &str = "0000010c4000000c00000bc2";
    for version in ["-tls1_2", "-tls1_3"] {
        let with = [&own[..], &[version]].concat();
        let mut client = s_client(lab, &pki, &with)?;
        // CEA with Result-Code 2001; it is longer than this.
        let answer = ask(&mut client, &capabilities(ASKER_NAME), 100);
        assert!(answer.contains(SUCCESS), "{version}: {answer} {}", end(client));
        end(client);
        // Another name than the certificate's: 3010, and the end.
        let mut client = s_client(lab, &pki, &with)?;
        let answer = ask(&mut client, &capabilities("ue.lab"), 1000);
        assert!(answer.contains(UNKNOWN_PEER), "{version}: {answer} {}", end(client));
        end(client);
        // No certificate; somebody else's, of the same authority.
        let (other, other_key) = (file(pki.certificate(Node::Ue)), file(pki.key(Node::Ue)));
        for (more, alert) in [
            (vec![version], "certificate required"),
            (vec![version, "-cert", &other, "-key", &other_key], "bad certificate"),
        ] {
            let mut client = s_client(lab, &pki, &more)?;
            let answer = ask(&mut client, &capabilities(ASKER_NAME), 1000);
            let said = end(client);
            assert!(answer.is_empty() && said.contains(alert), "{more:?}: {answer} {said}");
        }
    }
    for why in ["TLS no certificate", "TLS wrong name", "Diameter peer not admitted"] {
        assert!(hss.traced(why) > 0, "{why}: {}", hss.last_words());
    }
    Ok(())
}

#[test]
fn openssl_is_a_server_that_demands_a_certificate() {
    let Some(lab) = lab_or_skip() else { return };
    to_openssl(&lab).unwrap_or_else(|why| panic!("{why}"));
}

fn to_openssl(lab: &Lab) -> Result<(), Trouble> {
    let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
    for version in ["-tls1_2", "-tls1_3"] {
        let mut command = lab.command(HSS, "openssl");
        command.args(["s_server", "-quiet", "-Verify", "2", "-verify_return_error", version, "-accept"]);
        command.arg(format!("{}:{PORT}", address(lab, HSS))).arg("-CAfile").arg(pki.root_certificate());
        command.arg("-cert").arg(pki.certificate(HSS)).arg("-key").arg(pki.key(HSS));
        let mut server = start(command)?;
        wait_for(
            "s_server",
            LIMIT,
            || finish(&mut listening(lab)).ok().filter(|said| said.contains("5658")),
            String::new,
        )?;
        let asker = asker(lab, &pki)?;
        let mut cer = [0; 60];
        let read = server.stdout.as_mut().expect("piped").read_exact(&mut cer);
        let said = end(server);
        assert!(read.is_ok(), "{version}: {said} {}", asker.last_words());
        assert_eq!(cer[4..8], [0x80, 0, 1, 1], "{version}: a CER");
        assert!(cer.windows(6).any(|window| window == ASKER_NAME.as_bytes()), "{version}");
    }
    Ok(())
}

/// Which ports are listened on where the HSS is.
fn listening(lab: &Lab) -> Command {
    let mut command = lab.command(HSS, "ss");
    command.args(["-ltn"]);
    command
}
