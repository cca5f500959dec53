#!/usr/bin/env bash
# A PostgreSQL server for the tests of shared stores. They run it themselves, in a folder of their own.
set -euo pipefail
have() { command -v "$1" >/dev/null 2>&1 || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null; }
if have initdb && have postgres; then exit 0; fi
if ! command -v apt-get >/dev/null 2>&1; then
  echo "the tests of shared stores need initdb and postgres (PostgreSQL 13 or later) on the PATH: install them, then run again" >&2
  exit 1
fi
as_root=""; [ "$(id -u)" = 0 ] || as_root="sudo"
echo "installing PostgreSQL (Debian package)"
$as_root apt-get update -qq
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -o DPkg::Lock::Timeout=300 -y -qq --no-install-recommends postgresql >/dev/null
