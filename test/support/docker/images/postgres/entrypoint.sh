#!/bin/bash
# As the official image: begins as root, reads the password that only root may read, and goes on as postgres.
set -euo pipefail
if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then
  POSTGRES_PASSWORD=$(<"$POSTGRES_PASSWORD_FILE")
  export POSTGRES_PASSWORD
  unset POSTGRES_PASSWORD_FILE
fi
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  chmod 3775 /run/postgresql
  find "$PGDATA" /run/postgresql \! -user postgres -exec chown postgres '{}' +
  exec gosu postgres "$0" "$@"
fi
superuser=${POSTGRES_USER:-postgres}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  : "${POSTGRES_PASSWORD:?a password for the superuser}"
  initdb --username="$superuser" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD")
  printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
  # Not on TCP: a health check that looks meanwhile takes it for not ready.
  pg_ctl -D "$PGDATA" -o "-c listen_addresses='' -c unix_socket_directories=/run/postgresql" -w start
  ask=(psql --set=ON_ERROR_STOP=1 --host=/run/postgresql --no-password --no-psqlrc --username="$superuser")
  database=${POSTGRES_DB:-$superuser}
  [ "$database" = postgres ] || "${ask[@]}" --dbname=postgres --command="create database \"$database\""
  for file in /docker-entrypoint-initdb.d/*.sql; do
    [ ! -e "$file" ] || "${ask[@]}" --dbname="$database" --file="$file"
  done
  pg_ctl -D "$PGDATA" -m fast -w stop
fi
shift
exec postgres -c listen_addresses='*' -c unix_socket_directories=/run/postgresql "$@"
