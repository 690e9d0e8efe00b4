//! `leo-bridge run|status|check|load|clean`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::ExitCode;

use leo_bridge::command_line::{self, Command, USAGE};
use leo_bridge::{check, clients};
#[cfg(feature = "ebpf")]
use leo_bridge::{
    ebpf::Tie,
    own_object::{self, Refusal},
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match command_line::parse(&arguments) {
        Ok(Command::Run(run)) => serve(&run),
        Ok(Command::Status { socket }) => status(&socket),
        Ok(Command::Check) => return tell_needs(),
        Ok(Command::Load(file)) => load(&file),
        Ok(Command::Clean) => clean(),
        Ok(Command::Help) => {
            println!("{USAGE}");
            Ok(())
        }
        Err(error) => {
            eprintln!("leo-bridge: {error}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("leo-bridge: {error}");
            ExitCode::FAILURE
        }
    }
}

fn tell_needs() -> ExitCode {
    let needs = check::needs();
    needs.iter().for_each(|need| println!("{need}"));
    if needs.iter().all(|need| need.lack.is_none()) {
        println!("leo-bridge can run here");
        ExitCode::SUCCESS
    } else {
        println!("leo-bridge cannot run here");
        ExitCode::FAILURE
    }
}

fn status(socket: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{socket}: no bridge answers there: {error}");
    let mut stream = clients::connect(socket).map_err(failed)?;
    stream.write_all(b"{\"op\":\"status\"}\n").map_err(failed)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(failed)?;
    print!("{line}");
    if line.starts_with("{\"op\":\"status\"") { Ok(()) } else { Err(format!("{socket}: refused")) }
}

#[cfg(not(feature = "ebpf"))]
const WITHOUT: &str = "this build has no eBPF programs: run `make kernel` as root";

#[cfg(not(feature = "ebpf"))]
fn serve(_run: &command_line::Run) -> Result<(), String> {
    Err(WITHOUT.to_owned())
}

#[cfg(not(feature = "ebpf"))]
fn load(_file: &Path) -> Result<(), String> {
    Err(WITHOUT.to_owned())
}

#[cfg(not(feature = "ebpf"))]
fn clean() -> Result<(), String> {
    Err(WITHOUT.to_owned())
}

#[cfg(feature = "ebpf")]
fn serve(run: &command_line::Run) -> Result<(), String> {
    leo_bridge::serve::serve(run)
}

#[cfg(feature = "ebpf")]
fn load(file: &Path) -> Result<(), String> {
    let tie = if check::has_links() { Tie::Link } else { Tie::Guardian };
    let print_log = |refusal: Refusal| {
        eprint!("{}", refusal.log);
        refusal.why
    };
    let loaded = own_object::load(file, None, tie).map_err(print_log)?;
    let name = loaded.name.clone();
    let _registered = loaded.register().map_err(print_log)?;
    println!("{name}");
    Ok(())
}

#[cfg(feature = "ebpf")]
fn clean() -> Result<(), String> {
    let taken_away = leo_bridge::clean::clean()?;
    taken_away.iter().for_each(|name| println!("removed {name}, a congestion control that nobody served"));
    Ok(())
}
