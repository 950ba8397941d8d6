//! The command `keytoll`, so that building the tests builds what they run.

fn main() -> std::process::ExitCode {
    keytoll_cli::main()
}
