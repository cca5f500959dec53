#!/usr/bin/env bash
# A Chromium and its driver for the tests that open the report as a user does.
set -euo pipefail
have() { command -v "$1" >/dev/null 2>&1; }
if have chromium && have chromedriver; then exit 0; fi
if ! have apt-get; then
  echo "the browser tests need chromium and chromedriver on the PATH: install them, then run again" >&2
  exit 1
fi
as_root=""; [ "$(id -u)" = 0 ] || as_root="sudo"
echo "installing chromium and its driver (Debian packages)"
$as_root apt-get update -qq
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -o DPkg::Lock::Timeout=300 -y -qq --no-install-recommends chromium chromium-driver >/dev/null
