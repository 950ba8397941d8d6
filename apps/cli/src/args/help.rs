//! The text below the options in the help of a verb: an example, the files it reads and writes, its exit codes.

pub(super) const KEYTOLL_HELP: &str = "\
An output file replaces an earlier output of the same kind, and no other file.
Exit code of every verb: 0 done; 1 the verb's check failed, as its --help says; 2 the \
command line or the scenario is wrong, or a file that either names is missing, cannot be read or is not of \
its kind; 3 a file that is of its kind is damaged or cut short, or the environment prevents it; 4 a load is \
inconclusive, because this machine started devices too late; 130 Ctrl-C; 143 SIGTERM.";

pub(super) const RUN_HELP: &str = "\
Example:
  keytoll run quickstart --samples 2 --out runs/first

Reads a scenario: one that `keytoll list scenarios` shows, or a TOML file. Writes manifest.json, trace/, \
costs/, samples.csv, operations.csv, messages.csv, summary.json and report.html into the directory of \
--out; without it into runs/ and the scenario's name; with --pcap also capture/ for Wireshark. The table \
goes to stdout. DIR becomes a link to DIR.1; another run creates DIR.2 and redirects the link to it, once it is \
complete. Files that keytoll did not write are never removed; DIR is refused if it is one of them.
Exit code: 0 done, 1 no authentication of a row succeeded that could, or one in spite of a `fault` or of wrong credentials, \
2 the scenario or DIR is wrong, 3 the environment prevents it, 130 Ctrl-C, 143 SIGTERM: what was \
measured until then is kept.";

pub(super) const STUDY_HELP: &str = "\
Examples:
  keytoll study ikev2-wireless --samples 2 --out runs/first-study
  keytoll study all --samples 2 --out runs/all-studies

Runs the scenario of a study; `keytoll list studies` shows them. Writes what `keytoll run` writes and \
study.json into the directory of --out; without it into runs/ and the study's name. The paper's figures \
as tables, and whether its findings hold here, go to stdout. Earlier runs are kept as `keytoll run` keeps them. \
With `all` every study runs, each into a directory of its own in that of --out, without it in runs/studies; every finding with its \
verdict goes to stdout, and report.html there has all studies. What cannot run or was interrupted is named as missing.
Exit code: 0 done, also if findings do not hold; 1 no authentication of a row succeeded; 2 the command line or DIR is wrong; \
3 the environment prevents it; 130 Ctrl-C, 143 SIGTERM: what was measured until then is kept.";

pub(super) const PROFILE_HELP: &str = "\
Example:
  keytoll profile ikev2-rsa2048 --skeleton

Runs authentications of a method (`keytoll list methods`) between nodes in one process, the suites and \
real and null cryptography in turns, and prints each crypto operation of a node in the order of the \
messages: how often, milliseconds with 95 % interval, cycles, share; then the rest of the node. With \
--skeleton also the node without cryptography, and the cost of cryptography by subtraction and \
by addition. `keytoll profile esp --packet 736` does the same for a packet through a tunnel, stage by stage. \
Writes no files but that of --html.
Exit code: 0 done, 1 an authentication failed, 2 the command line is wrong, 3 the environment prevents it, \
130 Ctrl-C, 143 SIGTERM: what was measured until then is shown.";

pub(super) const CHECK_HELP: &str = "\
Example:
  keytoll check quickstart --set networks=lte

Reads a scenario: one that `keytoll list scenarios` shows, or a TOML file; or the file of a node for \
`keytoll gateway`, `aaa`, `hss` or `connect`. Refuses what `keytoll run` would refuse with the same options, \
and estimates on stderr how much work it would be. Writes no files.
Exit code: 0 it can be run, 2 it is wrong, 3 the environment prevents it.";

pub(super) const GATEWAY_HELP: &str = "\
Examples:
  keytoll gateway scenarios/live/gateway-psk.toml
  keytoll gateway scenarios/live/gateway-psk.toml --prometheus 127.0.0.1:9400

Reads a node file with `role = \"gateway\"`; scenarios/live/README.md has every key. Listens on loopback \
unless --listen says otherwise. Logs go to stderr; with --json a line for every event goes to stdout. \
SIGTERM or Ctrl-C deletes every SA, a second one ends at once.
Exit code: 0 ended by a signal, 2 the node file or the command line is wrong, 3 the environment prevents it.";

pub(super) const AAA_HELP: &str = "\
Example:
  keytoll aaa scenarios/live/aaa.toml

Reads a node file with `role = \"aaa\"`; scenarios/live/README.md has every key. Listens on loopback \
unless --listen says otherwise. Logs go to stderr; with --json a line for every event goes to stdout. \
SIGTERM or Ctrl-C lets conversations end, a second one ends at once.
Exit code: 0 ended by a signal, 2 the node file or the command line is wrong, 3 the environment prevents it.";

pub(super) const HSS_HELP: &str = "\
Example:
  keytoll hss scenarios/live/hss.toml

Reads a node file with `role = \"hss\"`; scenarios/live/README.md has every key. Listens on loopback \
unless --listen says otherwise. Logs go to stderr; with --json a line for every event goes to stdout. \
SIGTERM or Ctrl-C ends it.
Exit code: 0 ended by a signal, 2 the node file or the command line is wrong, 3 the environment prevents it.";

pub(super) const CONNECT_HELP: &str = "\
Example:
  keytoll connect scenarios/live/device-psk.toml --count 3 --interval 100ms
  keytoll connect scenarios/live/device-psk.toml --count 50 --rate 10/s

Reads a node file with `role = \"device\"`; scenarios/live/README.md has every key. Sets up an SA, sends \
an echo request through it, and closes it; prints what was negotiated and every message with its time. \
Logs go to stderr.
Exit code: 0 connected, and the echo came back if there is a `ping`; 1 it did not; 2 the node file or \
the command line is wrong; 3 the environment prevents it; 130 Ctrl-C, 143 SIGTERM before the end.";

pub(super) const LOAD_HELP: &str = "\
Example:
  keytoll load scenarios/live/load-radius.toml --fail-if 'delay.p99 > 300ms'

Reads a load file with `role = \"load\"`, which says whether devices speak RADIUS (over UDP or TLS), IKE or HIP; \
scenarios/live/README.md has every key. Calls only the target that the file names. Starts follow the schedule and do not wait for earlier devices; \
delays count from the scheduled start. A view, or a line a second, goes to stderr; the table goes to \
stdout. Writes manifest.json, load.json, population.json, series.csv, summary.json and report.html into a directory, and keeps earlier ones as `keytoll run` does. \
Ctrl-C closes what is open and keeps the results; a second one ends at once.
Exit code: 0 passed; 1 failed: no authentication succeeded, a condition of --fail-if or `fail_if` was met, or an \
authentication failed and no condition concerns failures; 2 the load file or the command line is \
wrong; 3 the environment prevents it; 4 inconclusive: in a second more than 1 % of the starts were later than 10 ms, or \
than 10 % of the median delay if that is more. A met condition of `delay` or `rate` is then inconclusive, too; 130 Ctrl-C, 143 SIGTERM.";

pub(super) const LIST_HELP: &str = "\
Example:
  keytoll list networks

Reads and writes no files. Algorithms marked `weak` or `broken` are measured but never offered by default; a \
network's mark says how well its parameters are founded.";

pub(super) const SCHEMA_HELP: &str = "\
Example:
  keytoll schema summary

`keytoll list schemas` shows the subject of each and the verb that prints it. A later version may add members to a \
format, and never removes any. Reads and writes no files.";

pub(super) const REPORT_HELP: &str = "\
Example:
  keytoll report runs/first

Reads manifest.json, trace/ and costs/ of a directory that `keytoll run` wrote; writes samples.csv, \
operations.csv, messages.csv, summary.json and report.html there, and the table to stdout. If a file \
was cut off or has changed since it was written, it is named and nothing is written; of a run that was \
killed the complete part is shown.
Exit code: 0 done, 2 it is no run directory, 3 a file is damaged, or the environment prevents it.";

pub(super) const COMPARE_HELP: &str = "\
Examples:
  keytoll compare runs/quickstart --fail-if 'delay_ms.p95 > +400%'
  keytoll run quickstart --samples 20 --out runs/before
  keytoll run quickstart --samples 20 --out runs/after
  keytoll compare runs/before --against runs/after

Reads manifest.json and samples.csv of directories that `keytoll run` or `measure --out` wrote, and of populations and loads \
population.json; writes no files but that of --html. Rows of two runs are compared with their likes: the same method and options \
over the same network. A load is compared with another one, or with a run of one population: the same in the simulator. \
With several runs on a side, as in `keytoll compare A1 A2 A3 --against B1 B2 B3`, CPU times are compared run by run, which also holds on a \
machine that does something else: run A and B in turn. Runs with the same seed have the same packets and losses: of all but the first only CPU times count. \
A condition is a measure, with a point of it where it has many values (min, mean, p5, p50, p75, p90, p95, p99, p99.9, p99.99, \
max), <, <=, > or >=, and a quantity, of the second run, or percent of the first run with a sign. A condition in percent is \
met only if the whole 95 % interval of the difference is beyond the limit, of CPU times beyond 3 % at least; below six values there is \
none. A condition fails the comparison, too, where no authentication succeeded in one of the rows, and where CPU times cannot be judged. With one RUN the rows are compared with the baseline row, to which no condition applies.
Exit code: 0 done, 1 a condition is met, 2 it is no run directory, has nothing to compare, or the command line is wrong, 3 a file is \
damaged, or the environment prevents it.";

pub(super) const EXPORT_HELP: &str = "\
Examples:
  keytoll run quickstart --samples 2 --out runs/first
  keytoll export runs/first --format latex --out tables.tex
  keytoll export runs/first --format junit
  keytoll export runs/first --format svg --out pictures
  keytoll export runs/first --format parquet --out tables

Reads manifest.json and summary.json, and study.json or load.json where there is one, of a directory that \
`keytoll run`, `keytoll study` or `keytoll load` wrote. Prints the columns of the report, or writes them into the file of \
--out. csv has a line for each number with its interval and unit. latex needs the package booktabs. junit has a case for each row, \
which fails if an authentication did otherwise than the scenario wants; for the verdict and each condition of a load, where an error \
means inconclusive; or for each finding of a study: one that does not hold has failed, one that cannot be judged is skipped. An \
interrupted run has a case more, which fails. prometheus has base units: seconds, bytes. svg measures the \
traces again and writes the pictures of report.html into the directory of --out, named like its figures. parquet writes each CSV \
file of the run into that directory as a Parquet file, with typed columns, their units and the metadata of the run, and replaces no \
file that keytoll has not written. svg and parquet need a keytoll built with `--features svg` or `--features parquet`; the Debian \
package has svg.
Exit code: 0 done, 2 it is no run directory, or has nothing to export in this format, 3 a file is damaged or of another \
version, or the environment prevents it.";

pub(super) const RANK_HELP: &str = "\
Examples:
  keytoll study hip-dex-aka
  keytoll rank runs/hip-dex-aka
  keytoll rank runs/hip-dex-aka --weights security=0.5
  keytoll rank runs/mine --criteria mine.toml --weights experts --json

Reads manifest.json, summary.json and samples.csv of a directory that `keytoll run` or `keytoll study` wrote, and \
the criteria: alternatives, criteria with their grades or what they measure, and experts' judgements; `keytoll \
list criteria` shows those built in, and criteria/README.md has every key of a file. Writes no files. Prints \
scores and order, weights with how far each expert is from all, grades, at which weights the order changes, \
how often each has which rank if weights, grades and measurements are drawn, and the order by other methods. \
Each draw resamples the authentications of each row and recomputes the statistic of each measured grade; all criteria of a row use \
the same resample. Without samples.csv measured values are drawn from their 95 % intervals.
Exit code: 0 done, 2 it is no run directory, or the criteria are wrong or ask for what the run has not, 3 a \
file is damaged, or the environment prevents it.";

pub(super) const SIZE_HELP: &str = "\
Examples:
  keytoll run quickstart
  keytoll size runs/quickstart --subscribers 2e6 --at-once 60% --reauth 8h --p99 300ms
  keytoll size runs/quickstart --subscribers 50000 --reauth 1h --arrivals storm:50000/10s --p99 5s --cores gw=1
  keytoll size runs/quickstart --subscribers 2e6 --reauth 8h --p99 1s --method ikev2-rsa2048 --method ikev2-ecdsa-p256

Reads manifest.json and summary.json of a directory that `keytoll run` or `keytoll study` wrote. Writes no files. \
Prints for each method the cores and memory of every serving node, how busy they are, how long authentications \
wait, by which factor the load may grow; what one of several sites must carry if another is lost, when the last \
device is in after an outage, what devices save with the cheapest method; and what is assumed. --simulate runs \
every method (IKE, HIP, WLAN) in the simulator at the utilisation that was found and prints both answers. A cost table \
named in manifest.json is ignored unless --costs names it. With --daemon, methods of which a table of `keytoll calibrate` has the price \
are sized with the daemon, too, and the ratio is explained.
Exit code: 0 done, even if no core count meets --p99; 1 the simulation misses --p99 with a method that should meet it, \
or more than 1 % fail; 2 it is no run directory, it has no CPU \
times, or the given cores cannot keep up; 3 a file is damaged, or the environment prevents it.";

pub(super) const DECODE_HELP: &str = "\
Example:
  keytoll decode capture.pcapng --keys capture.keys

Reads a pcap or pcapng file and, with --keys, the key tables of a directory: ikev2_decryption_table, \
ikev1_decryption_table, esp_sa, 80211_keys (keys of WEP, passphrases, PSKs, PMKs, MSKs and temporal keys of \
802.11) and the RADIUS secret in preferences, as `keytoll run --pcap` and Wireshark write them. Links: \
Ethernet with and without VLAN tags, 802.11 with and without radiotap, raw IP, loopback, Linux cooked; protocols: IKE, HIP, ESP, 802.11 (authentication and association), EAPOL, \
RADIUS, Diameter over TCP and SCTP, EAP in IKE, EAPOL and RADIUS. With their key, or \
with the master key of a 4-way handshake or fast transition that is in the capture, frames of 802.11 are \
decrypted (WEP, TKIP, CCMP, GCMP; protected management frames, too), and what IP packets carry is decoded; each \
conversation says how many were. \
Writes no files but that of --html. Prints each conversation as a ladder: one rail for each of UE, GW (in EAPOL the \
authenticator) or AP, AAA and HSS, one arrow for each message with its time, bytes and packets, its \
payloads, retransmissions and failures.
Exit code: 0 done, also if authentications failed; 2 it is no capture, or there are no such keys; 3 it is \
damaged or cut short, and the readable part was shown, or the environment prevents it.";

pub(super) const MEASURE_HELP: &str = "\
Example:
  keytoll measure capture.pcapng --keys capture.keys --out runs/captured

Reads what `keytoll decode` reads. Prints the table of `keytoll run` for what was captured: messages, \
packets, bytes and retransmissions of each link, and delays from the first packet to the last answer; a \
capture has no data on CPU and memory. With --out writes manifest.json, trace/, costs/, samples.csv, \
operations.csv, messages.csv, summary.json and report.html into a directory, and keeps earlier ones as \
`keytoll run` does.
Exit code: 0 done, 1 no authentication in it succeeded; 2 it is no capture, or there are no such keys; 3 \
it is damaged or cut short, and the readable part was shown, or the environment prevents it.";

pub(super) const CRYPTO_HELP: &str = "\
Examples:
  keytoll crypto modp2048 sign/rsa2048
  keytoll crypto --table dh-groups
  keytoll crypto --calibrate costs.json
  keytoll crypto --calibrate costs.json --messages runs/quickstart
  keytoll crypto --calibrate costs.json --messages runs/slow --messages runs/fast

PRIMITIVE names a family (groups, curves, signatures, rsa-encryption, ciphers, integrity, traffic, prfs, hashes, \
kernels), an operation (generate, agree, sign, encrypt, …) or an algorithm (x25519, aes128gcm16, …); \
all parts between slashes must match. Without any, everything is measured, in about half a minute. \
--calibrate writes a cost table for `keytoll run --crypto table --costs FILE`; otherwise no files are \
written, and an earlier FILE is replaced only by a complete one. With --messages RUN, a run of `--world live`, nodes are \
also charged what each message takes besides cryptography; with two or more runs of `keytoll load` against our own gateway or \
server, some slow and some that keep it busy, messages that wait for a busy node are charged less than \
those that wake it. A node of ours that is measured by its page (`keytoll gateway --prometheus`) tells \
what it took to be woken, by the length of the pause before and until its answer: then messages that \
come after a pause have prices of their own, and what a node does after its answer delays nobody. Give \
loads of all rates in question (say 500, 1000, 2000, 4000 and 7000 a second). From loads whose generator \
mostly slept keytoll learns how long it takes to wake a process up: nodes that sleep compute so much \
later. The prices are the target's if the loads measure it by its page, else the generator's. The page \
tells which operations of cryptography the target ran: a message costs what the table's prices of these \
leave of the target's CPU time, so that both together cost about what was measured. The table goes to \
stdout.
Exit code: 0 done, 2 the command line is wrong, 3 the environment prevents it, 130 Ctrl-C, 143 \
SIGTERM.";

pub(super) const CALIBRATE_HELP: &str = "\
Examples:
  keytoll calibrate strongswan --out strongswan.json
  keytoll calibrate freeradius --method ikev2-eap-tls --out freeradius.json
  keytoll calibrate strongswan --method ikev2-psk --busy 30 --rounds 1 --seconds 2 --out strongswan.json

Starts the daemon, lets devices of `keytoll load` authenticate at several rates, and reads its CPU time from /proc around each load: \
all threads, and the kernel's work for them. A rate is chosen so that the daemon is so busy, from the cost of an authentication in the \
load before. Daemon and devices share this machine: other programs should be idle. A load with more than 1 % failures, or \
with late starts, is left out with a note. In a scenario `[cpus] gw = { costs = \"strongswan.json\" }` with `crypto = \"table\"` and `costs = \"reference\"` \
charges the gateway with it, and `keytoll size RUN --daemon gw=strongswan.json` sizes it. `strongswan` is the gateway, and asks FreeRADIUS \
where the method is of EAP; `freeradius` and `hostapd` are AAA servers. Needs root and the daemon's Debian package. An earlier FILE is replaced only by a complete one.
Exit code: 0 done, 2 the command line is wrong, 3 the environment prevents it, 130 Ctrl-C, 143 SIGTERM.";

pub(super) const COMPLETIONS_HELP: &str = "\
Example:
  keytoll completions bash

Reads and writes no files. For bash, put the output into the file \
~/.local/share/bash-completion/completions/keytoll.";

pub(super) const MAN_HELP: &str = "\
Example:
  keytoll man ~/.local/share/man/man1

Writes keytoll.1, keytoll-run.1 and so on; those of an earlier version are replaced. `man keytoll-run` shows \
one, `man -l DIR/keytoll-run.1` also outside man's search path.
Exit code: 0 done, 2 the command line is wrong, 3 the environment prevents it.";
