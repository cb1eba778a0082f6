//! Drops capabilities and switches to another user.

use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

use crate::error::FenceError;
use crate::user::JobUser;

/// Switches to the user, drops all capabilities, and sets `no_new_privs`, so that executed programs cannot regain them.
pub(crate) fn drop_all(user: Option<&JobUser>) -> Result<(), FenceError> {
    for number in 0..u64::BITS {
        // This call fails unless the process runs as root. For other users, `no_new_privs` below is sufficient, so the
        // error is ignored.
        let _permitted = remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number));
    }
    let _there_are_some = clear_ambient_capability_set();
    if let Some(user) = user {
        become_user(user)?;
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(Into::into).map_err(FenceError::rejected("dropping capabilities"))?;
    set_no_new_privs(true).map_err(Into::into).map_err(FenceError::rejected("setting no_new_privs"))
}

fn become_user(user: &JobUser) -> Result<(), FenceError> {
    let groups: Vec<Gid> = user.groups.iter().copied().map(Gid::from_raw).collect();
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    let became = setgroups(&groups).and_then(|()| setresgid(gid, gid, gid)).and_then(|()| setresuid(uid, uid, uid));
    became.map_err(|error| FenceError::User { name: user.name.clone(), problem: error.to_string() })?;
    // Drivers read /proc/self, which becomes unreadable when a process switches to another user. This call makes it
    // readable again.
    set_dumpable_behavior(DumpableBehavior::Dumpable)
        .map_err(Into::into)
        .map_err(FenceError::rejected("making /proc/self readable"))
}
