//! The command `keytoll`.

fn main() -> std::process::ExitCode {
    keytoll_cli::main()
}
