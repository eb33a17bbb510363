//! The command `graphc`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
