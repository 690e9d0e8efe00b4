//! Turn a command line into a running daemon: read untrusted input, load, give up root, serve.

use std::io::Write;
use std::sync::Arc;

use leo_control::Policy;

use crate::command_line::{Decider, Run};
use crate::daemon::{Daemon, Scheme};
use crate::ebpf::Tie;
use crate::service::{Controller, Service};
use crate::{ack_driven, check, clients, ebpf, guardian, own_object, privileges};

/// Serve until a signal ends the process. Prints one line when flows may use the schemes.
pub fn serve(run: &Run) -> Result<(), String> {
    if let Some(need) = check::needs().into_iter().find(|need| need.lack.is_some()) {
        return Err(format!("{}: {}", need.name, need.lack.unwrap_or_default()));
    }
    let parent = nix::unistd::getppid();
    let user = privileges::user(run.user.as_deref(), std::env::var("SUDO_UID").ok().as_deref())?;
    // Read policies before loading: a bad policy must not leave a scheme behind even for a moment.
    let deciders = run
        .schemes
        .iter()
        .map(|(name, decider)| Ok((name, Plan::new(decider, run)?)))
        .collect::<Result<Vec<_>, String>>()?;
    let listener = clients::Listener::new(&run.socket, user)
        .map_err(|error| format!("--socket {}: {error}", run.socket))?;
    let tie = if run.no_link || !check::has_links() { Tie::Guardian } else { Tie::Link };
    let mut loaded = Vec::new();
    for (name, Plan { program, settings, service }) in deciders {
        loaded.push((name, service, ebpf::load(program, name, &settings, tie)?));
    }
    let objects = run
        .objects
        .iter()
        .map(|(name, file)| own_object::load(file, Some(name), tie).map_err(|refusal| refusal.why))
        .collect::<Result<Vec<_>, String>>()?;
    // The guardian must start before the first scheme is registered and end after the last.
    let _guardian = match tie {
        Tie::Link => None,
        Tie::Guardian => {
            let schemes = loaded.iter().filter_map(|(_, _, program)| program.scheme_fd());
            let own = objects.iter().filter_map(own_object::Loaded::scheme_fd);
            let maps: Vec<_> = schemes.chain(own).collect();
            Some(guardian::start(&maps, user)?)
        }
    };
    let mut schemes = Vec::new();
    for (name, service, program) in loaded {
        let mut registered = program.register()?;
        service.say_how_long_to_wait(registered.slots_mut());
        schemes.push(Scheme { name: name.clone(), service, registered });
    }
    // They end with this function.
    let _objects = objects
        .into_iter()
        .map(|object| object.register().map_err(|refusal| refusal.why))
        .collect::<Result<Vec<_>, String>>()?;
    let prompt = privileges::be_prompt();
    privileges::drop_to(user)?;
    if run.with_parent {
        privileges::end_with(parent)?;
    }
    let own = run.objects.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = schemes.iter().map(|scheme| scheme.name.as_str()).chain(own).collect();
    let names = names.join(", ");
    let mut daemon = Daemon::new(schemes, listener, vec![user.0.as_raw()])?;
    if !prompt {
        eprintln!("leo-bridge: no real-time scheduling here: expect decisions to be late on a busy machine");
    }
    println!("leo-bridge: serving {names} on {} as user {}", run.socket, user.0);
    std::io::stdout().flush().map_err(|error| format!("standard output: {error}"))?;
    daemon.run()
}

/// The program to load for a scheme, and its service.
struct Plan {
    program: ebpf::Program,
    settings: ebpf::Settings,
    service: Service,
}

impl Plan {
    fn new(decider: &Decider, run: &Run) -> Result<Self, String> {
        let mut program = ebpf::Program::Agent;
        let (mut tells_acks, mut by_one, mut over_cubic) = (false, false, false);
        let mut observation = None;
        let (controller, interval_us) = match decider {
            Decider::Policy(folder) => {
                let policy = Policy::load(folder).map_err(|error| error.to_string())?;
                (by_one, over_cubic) =
                    (policy.spec().action.sets_rate(), policy.spec().action.is_over_cubic());
                let interval_us = policy.interval_ns() / 1_000;
                (Controller::Policy(Arc::new(policy)), interval_us)
            }
            Decider::Offered => (Controller::Offered, run.interval_us),
            Decider::OfferedTo(spec) => {
                (by_one, over_cubic) = (spec.action.sets_rate(), spec.action.is_over_cubic());
                observation = Some(spec.observation);
                (Controller::Offered, run.interval_us)
            }
            Decider::OfferedOverCubic => {
                over_cubic = true;
                (Controller::Offered, run.interval_us)
            }
            Decider::Scheme(scheme) => {
                (tells_acks, by_one) = (true, ack_driven::paces_by_one(scheme));
                (Controller::AckDriven(scheme.clone(), run.seed), run.interval_us)
            }
            Decider::SaTcp => {
                program = ebpf::Program::SaTcp;
                (Controller::Program, run.interval_us)
            }
        };
        let settings = ebpf::Settings { tells_acks, by_one, over_cubic };
        let mut service = Service::new(controller, interval_us).over_cubic(over_cubic);
        if let Some(observation) = observation {
            service = service.observed_as(observation);
        }
        Ok(Self { program, settings, service })
    }
}
