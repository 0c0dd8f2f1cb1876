#!/bin/bash
# Coins for every node, and the channels that a market needs. Runs at every start and does what is missing.
set -euo pipefail

rpc() { # <method> <parameters as JSON>
  curl --fail --silent --user penstock:regtest --data "{\"method\":\"$1\",\"params\":$2}" http://bitcoind:18443/wallet/miner
}
mine() { rpc getnewaddress '[]' | jq -r .result | { read -r address; rpc generatetoaddress "[$1,\"$address\"]" >/dev/null; }; }
node() { # <name> <arguments of lncli>
  local name=$1
  shift
  lncli --network=regtest --rpcserver="lnd-$name:10009" --tlscertpath="/lnd/$name/tls.cert" \
    --macaroonpath="/lnd/$name/data/chain/bitcoin/regtest/admin.macaroon" "$@"
}
until_true() {
  for _ in $(seq 120); do
    if "$@"; then return; fi
    sleep 1
  done
  echo "never: $*" >&2
  exit 1
}
has_coins() { [ "$(node "$1" walletbalance | jq -r .confirmed_balance)" -gt 100000000 ]; }
in_step() { [ "$(node "$1" getinfo | jq -r .synced_to_chain)" = true ]; }
key() { node "$1" getinfo | jq -r .identity_pubkey; }
has_channel() { [ "$(node "$1" listchannels --active_only --peer "$(key "$2")" | jq '.channels | length')" -gt 0 ]; }

for name in market ada bob buyer; do
  if ! has_coins "$name"; then
    for _ in 1 2 3 4 5; do rpc sendtoaddress "[\"$(node "$name" newaddress p2wkh | jq -r .address)\",0.5]" >/dev/null; done
  fi
done
mine 1
for name in market ada bob buyer; do until_true has_coins "$name"; done

open() { # <from> <to>
  node "$1" connect "$(key "$2")@lnd-$2:9735" >/dev/null 2>&1 || true
  if node "$1" listchannels --peer "$(key "$2")" | jq -e '.channels | length > 0' >/dev/null; then return; fi
  until_true in_step "$1"
  node "$1" openchannel --node_key "$(key "$2")" --local_amt 10000000 --sat_per_vbyte 2 >/dev/null
  mine 6
}
open buyer market
open market ada
open market bob
until_true has_channel buyer market
until_true has_channel market ada
until_true has_channel market bob
# Whom the market's operator admits.
for name in ada bob; do key "$name" >"/keys/$name"; done
