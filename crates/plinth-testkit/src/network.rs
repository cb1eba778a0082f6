//! Simulates several hosts on one machine. Each host is a network namespace with its own address. All hosts are
//! connected to a bridge. The test process has the address of the bridge.
//!
//! Network namespaces require root. `scripts/network.sh COMMAND` runs the tests in separate namespaces. Therefore the
//! machine itself is not changed, and everything is removed when the command ends.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

const BRIDGE: &str = "bridge";
/// Firewall rules of each host. Arriving packets from the addresses in the set `blocked` are dropped. As with a broken
/// link, the sender gets no error.
const RULES: &str = "table inet faults {
    set blocked { type ipv4_addr; }
    chain input { type filter hook input priority filter; ip saddr @blocked drop; }
}";

/// The network that connects the hosts.
#[derive(Debug)]
pub struct Network {
    hosts: Vec<String>,
}

/// A host of a [`Network`].
#[derive(Clone, Debug)]
pub struct Host {
    name: String,
    address: Ipv4Addr,
}

impl Network {
    /// Creates a network without hosts. Panics if the process is not in a network namespace of its own.
    pub fn create() -> Self {
        let links = output("ip", &["-o", "link", "show"]);
        assert!(
            links.lines().all(|line| line.contains(": lo:")),
            "run this test in network namespaces of its own: make faults, or scripts/network.sh COMMAND"
        );
        run("ip", &["link", "add", BRIDGE, "type", "bridge"]);
        run("ip", &["address", "add", &format!("{}/24", Self::address(1)), "dev", BRIDGE]);
        run("ip", &["link", "set", BRIDGE, "up"]);
        let network = Self { hosts: Vec::new() };
        network.own_host().nft(RULES);
        network
    }

    /// Returns the address of host `number`. RFC 2544 reserves this network for tests.
    const fn address(number: u8) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, 0, number)
    }

    /// Returns the host on which the test process runs.
    pub fn own_host(&self) -> Host {
        Host { name: String::new(), address: Self::address(1) }
    }

    /// Returns the address range of the network: `198.18.0.0/24`.
    pub fn range(&self) -> String {
        format!("{}/24", Self::address(0))
    }

    /// Adds a host. Its name may have at most 10 characters.
    pub fn add(&mut self, name: &str) -> Host {
        self.hosts.push(name.to_owned());
        let number = 1 + u8::try_from(self.hosts.len()).expect("fewer than 254 hosts");
        let host = Host { name: name.to_owned(), address: Self::address(number) };
        let outside = format!("to-{name}");
        run("ip", &["netns", "add", name]);
        run("ip", &["link", "add", &outside, "type", "veth", "peer", "name", "eth0", "netns", name]);
        run("ip", &["link", "set", &outside, "master", BRIDGE, "up"]);
        let address = format!("{}/24", host.address);
        for args in [
            &["link", "set", "lo", "up"][..],
            &["address", "add", &address, "dev", "eth0"],
            &["link", "set", "eth0", "up"],
        ] {
            run("ip", &[&["-n", name], args].concat());
        }
        host.nft(RULES);
        host
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.own_host().nft("delete table inet faults");
        for name in &self.hosts {
            run("ip", &["link", "delete", &format!("to-{name}")]);
            run("ip", &["netns", "delete", name]);
        }
        run("ip", &["link", "delete", BRIDGE]);
    }
}

impl Host {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Returns a command that runs a program on this host. The caller adds the program and its arguments to the
    /// command.
    pub fn command(&self) -> Command {
        if self.name.is_empty() {
            return Command::new("env");
        }
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.namespace().display()));
        command
    }

    /// Opens a port of this host for a server that runs in this process.
    pub fn listen(&self, port: u16) -> io::Result<TcpListener> {
        let (namespace, address) = (self.namespace(), SocketAddr::from((self.address, port)));
        // A socket belongs to the namespace of the thread that created it.
        let thread = std::thread::spawn(move || {
            let namespace = std::fs::File::open(namespace)?;
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            TcpListener::bind(address)
        });
        thread.join().expect("a thread that opens a port")
    }

    /// Drops all packets from `other` that arrive at this host.
    pub fn block(&self, other: &Self) {
        self.nft(&format!("add element inet faults blocked {{ {} }}", other.address));
    }

    /// Accepts packets from `other` again.
    pub fn unblock(&self, other: &Self) {
        self.nft(&format!("delete element inet faults blocked {{ {} }}", other.address));
    }

    fn namespace(&self) -> PathBuf {
        PathBuf::from("/run/netns").join(&self.name)
    }

    fn nft(&self, rules: &str) {
        let mut command = self.command();
        check(command.arg("nft").arg(rules), "nft");
    }
}

fn run(program: &str, args: &[&str]) {
    check(Command::new(program).args(args), program);
}

fn check(command: &mut Command, program: &str) {
    let done = command.output().unwrap_or_else(|error| panic!("{program} cannot be started: {error}"));
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn output(program: &str, args: &[&str]) -> String {
    let done = Command::new(program).args(args).output();
    let done = done.unwrap_or_else(|error| panic!("{program} cannot be started: {error}; make faults installs it"));
    String::from_utf8_lossy(&done.stdout).into_owned()
}
