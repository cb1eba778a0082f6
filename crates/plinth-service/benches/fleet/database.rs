//! The PostgreSQL server: its settings, rows and statistics.

use std::path::Path;
use std::process::Command;

use plinth_testkit::{Postgres, postgres};

use super::Plan;

/// Settings of a server with enough memory for the tables, and with the durability that tests do without.
pub(super) const SETTINGS: &[&str] = &[
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "shared_buffers=1GB",
    "max_wal_size=4GB",
    "max_connections=4200",
    "shared_preload_libraries=pg_stat_statements",
    "pg_stat_statements.track_planning=on",
];
/// Clock ticks per second in `/proc`, the same on all common Linux systems.
const TICKS: f64 = 100.0;

/// Runs SQL and returns what it prints.
pub(super) fn sql(server: &Postgres, text: &str) -> String {
    let mut psql = Command::new(postgres().join("psql"));
    psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &server.address(), "-c", text]);
    let done = psql.output().expect("psql");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

/// Inserts accounts with a model each, and their queued renders in turns, with what they were charged.
pub(super) fn fill(server: &Postgres, plan: &Plan) {
    let (accounts, renders) = (plan.accounts, plan.renders);
    let id = |kind: char, number: &str| format!("'{kind}' || lpad(({number})::text, 11, '0')");
    let account = format!("n % {accounts}");
    let (a, w, m, r, e) = (id('a', &account), id('w', &account), id('m', &account), id('r', "n"), id('e', "n"));
    let class =
        "(ARRAY['share','share','share','share','share','standard','standard','standard','4k','pro'])[n / 7 % 10 + 1]";
    for text in [
        format!(
            "INSERT INTO accounts (id, email, is_admin, paid, free, created_at) \
             SELECT {a}, n || '@example.org', false, 1000, 0, 0 FROM generate_series(0, {accounts} - 1) n"
        ),
        format!(
            "INSERT INTO workspaces (id, name, owner_id, is_personal, created_at) \
             SELECT {w}, 'w', {a}, true, 0 FROM generate_series(0, {accounts} - 1) n"
        ),
        format!(
            "INSERT INTO models (id, workspace_id, original_name, file_size, sha256, animations, animation_count, status, \
             created_at, updated_at) SELECT {m}, {w}, 'a.glb', 1, md5(n::text), '[]', 0, 'active', 0, 0 \
             FROM generate_series(0, {accounts} - 1) n"
        ),
        format!(
            "INSERT INTO renders (id, workspace_id, model_id, payer_id, settings, settings_sha256, frames_sha256, work_class, \
             replay_key, replay_ordinal, is_system_preview, pool, credits, status, hls_status, warnings, attempt, hls_attempt, \
             created_at, updated_at) SELECT {r}, {w}, {m}, {a}, '{{\"length\":4,\"rotateY\":' || n || '}}', \
             encode(sha256(n::text::bytea), 'hex'), encode(sha256(n::text::bytea), 'hex'), {class}, '', -1, false, 'paid', 4, \
             'pending', 'pending', '[]', 0, 0, 1700000000000 + n, 1700000000000 + n FROM generate_series(0, {renders} - 1) n"
        ),
        format!(
            "INSERT INTO ledger (id, account_id, workspace_id, render_id, type, pool, credits, price_cents, source, \
             description, created_at) SELECT {e}, {a}, {w}, {r}, 'render', 'paid', -4, 0, 'render', 'render', \
             1700000000000 + n FROM generate_series(0, {renders} - 1) n"
        ),
        "INSERT INTO queue SELECT DISTINCT 'render ' || work_class, payer_id, CAST(0 AS DOUBLE PRECISION) FROM renders"
            .to_owned(),
        "VACUUM ANALYZE".to_owned(),
    ] {
        // Without checks of foreign keys, which take most of the time.
        sql(
            server,
            &if text == "VACUUM ANALYZE" { text } else { format!("SET session_replication_role = replica; {text}") },
        );
    }
}

/// Processor seconds that a process and its children have used, those that ended included.
pub(super) fn cpu_secs(pid: u32) -> f64 {
    let field = |stat: &str, at: usize| -> u32 {
        // The name, in parentheses, may contain spaces.
        let rest = stat.rsplit(')').next().unwrap_or_default();
        rest.split_whitespace().nth(at - 3).and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let of = |pid: &str, fields: std::ops::RangeInclusive<usize>| {
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
        (field(&stat, 4), fields.map(|at| f64::from(field(&stat, at))).sum::<f64>())
    };
    let processes =
        std::fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let children =
        processes.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).map(|name| of(&name, 14..=15));
    let living: f64 = children.filter(|(parent, _)| *parent == pid).map(|(_, ticks)| ticks).sum();
    (of(&pid.to_string(), 14..=17).1 + living) / TICKS
}

/// Sizes and dead rows of the tables that a queue changes.
pub(super) fn tables(server: &Postgres) -> String {
    sql(
        server,
        "SELECT string_agg(relname || ' ' || pg_size_pretty(pg_table_size(relid)) || ' + ' || \
         pg_size_pretty(pg_indexes_size(relid)) || ' of indexes, ' || n_dead_tup || ' dead', '; ' ORDER BY relname) \
         FROM pg_stat_user_tables WHERE relname IN ('renders', 'queue', 'shares')",
    )
}

/// The statements that took most of the server's time: calls, mean ms to execute, mean ms to plan, text.
pub(super) fn statements(server: &Postgres) -> String {
    sql(
        server,
        "SELECT calls || ' x ' || round(mean_exec_time::numeric, 3) || ' + ' || \
         round((total_plan_time / calls)::numeric, 3) || ' ms  ' || left(regexp_replace(query, '\\s+', ' ', 'g'), 90) \
         FROM pg_stat_statements ORDER BY total_exec_time + total_plan_time DESC LIMIT 10",
    )
}
