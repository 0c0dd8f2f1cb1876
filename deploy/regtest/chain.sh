#!/bin/sh
# Gives the chain a miner with coins. Runs at every start and does what is missing.
set -eu
rpc() { bitcoin-cli -regtest -rpcconnect=bitcoind -rpcuser=penstock -rpcpassword=regtest "$@"; }
rpc -named createwallet wallet_name=miner load_on_startup=true >/dev/null 2>&1 || rpc loadwallet miner >/dev/null 2>&1 || true
# The first coins may be spent after a hundred blocks. Afterwards one block a start: lnd takes an old tip for a node that lags.
if [ "$(rpc getblockcount)" -lt 150 ]; then rpc -rpcwallet=miner -generate 150 >/dev/null; else rpc -rpcwallet=miner -generate 1 >/dev/null; fi
