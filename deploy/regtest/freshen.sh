#!/bin/sh
# Makes a block when the newest is an hour old: lnd takes an old tip for a node that lags, and sells nothing.
set -eu
rpc() { bitcoin-cli -regtest -rpcconnect=bitcoind -rpcuser=penstock -rpcpassword=regtest "$@"; }
is_old() {
  time=$(rpc getblockheader "$(rpc getbestblockhash)" | sed -n 's/^ *"time": *\([0-9]*\).*/\1/p')
  [ -n "$time" ] && [ $(($(date +%s) - time)) -gt 3600 ]
}
while true; do
  # One that starts again is asked later.
  if is_old; then rpc -rpcwallet=miner -generate 1 >/dev/null || true; fi
  sleep 60
done
