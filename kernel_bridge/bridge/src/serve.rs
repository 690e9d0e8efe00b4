//! From a command line to a running daemon: read what is untrusted, load, give up root, serve.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use leo_control::Policy;

use crate::command_line::{Decider, Run};
use crate::daemon::{Daemon, Scheme};
use crate::service::{Controller, PATIENCE_INTERVALS, Service};
use crate::{ack_driven, check, clients, ebpf, privileges};

/// Serve until a signal says to end. Prints one line when flows may come.
///
/// # Errors
/// One line: what the machine lacks, what the kernel refused, or which file is wrong.
pub fn serve(run: &Run) -> Result<(), String> {
    if let Some(need) = check::needs().into_iter().find(|need| need.lack.is_some()) {
        return Err(format!("{}: {}", need.what, need.lack.unwrap_or_default()));
    }
    let parent = nix::unistd::getppid();
    let user = privileges::user(run.user.as_deref(), std::env::var("SUDO_UID").ok().as_deref())?;
    // Before anything is loaded: a bad policy must not leave a scheme behind even for a moment.
    let mut deciders = Vec::new();
    for (name, decider) in &run.schemes {
        let (program, controller, interval_us) = match decider {
            Decider::Policy(folder) => {
                let policy = Policy::load(folder).map_err(|error| error.to_string())?;
                if policy.spec().action.is_over_cubic() {
                    let rule = "acts on CUBIC beneath it, which leo-bridge does not run (the simulator does)";
                    let (folder, agent) = (folder.display(), policy.spec().name());
                    return Err(format!("{folder}/policy.json: agent: {agent} {rule}"));
                }
                let interval_us = policy.interval_ns() / 1_000;
                (ebpf::Program::Agent, Controller::Policy(Arc::new(policy)), interval_us)
            }
            Decider::Offered => (ebpf::Program::Agent, Controller::Offered, run.interval_us),
            Decider::Scheme(scheme) => {
                let controller = Controller::AckDriven(scheme.clone(), run.seed);
                let by_one = ack_driven::paces_by_one(scheme);
                (ebpf::Program::AgentWithAcks { by_one }, controller, run.interval_us)
            }
            Decider::SaTcp => (ebpf::Program::SaTcp, Controller::Program, run.interval_us),
        };
        deciders.push((name, program, controller, interval_us));
    }
    let listener = clients::Listener::new(&run.socket, user)
        .map_err(|error| format!("--socket {}: {error}", run.socket))?;
    let mut schemes = Vec::new();
    for (name, program, controller, interval_us) in deciders {
        let patience = Duration::from_micros(PATIENCE_INTERVALS * interval_us);
        let registered = ebpf::register(program, name, patience)?;
        schemes.push(Scheme {
            name: name.clone(),
            service: Service::new(controller, interval_us),
            registered,
        });
    }
    let prompt = privileges::be_prompt();
    privileges::drop_to(user)?;
    if run.with_parent {
        privileges::end_with(parent)?;
    }
    let names: Vec<&str> = schemes.iter().map(|scheme| scheme.name.as_str()).collect();
    let names = names.join(", ");
    let mut daemon = Daemon::new(schemes, listener, vec![user.0.as_raw()])?;
    if !prompt {
        eprintln!("leo-bridge: no real-time scheduling here: expect decisions to be late on a busy machine");
    }
    println!("leo-bridge: serving {names} on {} as user {}", run.socket, user.0);
    std::io::stdout().flush().map_err(|error| format!("standard output: {error}"))?;
    daemon.run()
}
