#!/bin/bash
# What the official image does with the variables of the Compose file when its volume is empty.
set -euo pipefail
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA"
    chown postgres "$PGDATA"
    chmod 700 "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --init-groups bash "$0"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" \
        --auth-local=trust --auth-host=scram-sha-256 > /dev/null
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    pg_ctl -w -o "-c listen_addresses=''" start > /dev/null
    createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl -w stop > /dev/null
fi
exec postgres -c "listen_addresses=*"
