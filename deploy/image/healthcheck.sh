#!/bin/bash
# Whether the server or the worker in this container lives. The image has no HTTP client.
for port in "${PLINTH_LISTEN##*:}" "${PLINTH_HEALTH_LISTEN##*:}"; do
    if exec 3<>"/dev/tcp/127.0.0.1/$port"; then
        printf 'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
        read -r -t 4 line <&3
        [[ $line == *" 200 "* ]] && exit 0
    fi
done 2>/dev/null
exit 1
