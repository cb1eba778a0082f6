#!/usr/bin/env bash
# Fails if code outside of a crate's module `system` calls the operating system directly or depends on which one it is. Tests are
# left out, and so are plinth-fence, which consists of such calls, and plinth-testkit, which only tests use.
set -euo pipefail
cd "$(dirname "$0")/.."

calls='std::os::|(^|[^a-z_])(libc|rustix|nix|landlock|seccompiler|ur_taking_me_with_you)::|tokio::signal::(unix|windows)'
calls+='|"/(proc|sys)/|cfg[a-z_]*!?\(.*(unix|windows|target_os|target_family)'
files=0
found=0
while IFS= read -r file; do
    case $file in
        crates/plinth-fence/* | crates/plinth-testkit/* | */src/system.rs | */src/system/* | */tests.rs | */tests/*) continue ;;
    esac
    files=$((files + 1))
    # Unit tests close a file.
    if awk -v file="$file" -v calls="$calls" '
        /^#\[cfg\((all\()?test/ { exit }
        /^ *\/\// { next }
        $0 ~ calls { print "system_calls: " file ":" FNR ": " $0; bad = 1 }
        END { exit !bad }' "$file" >&2; then found=1; fi
done < <(git ls-files --cached --others --exclude-standard -- 'crates/*/src/*.rs')
if ((found != 0)); then
    echo "system_calls: move these calls to the module system of their crate, with what other systems do instead" >&2
    exit 1
fi
((files > 0)) || { echo "system_calls: no files found" >&2; exit 1; }
echo "system_calls: $files files call no operating system directly"
