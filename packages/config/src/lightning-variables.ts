import { z } from 'zod'
import { hostsAndPorts, serverUrl, webAddress } from './address-schemas.ts'
import { oneOf, defineVariable } from './value-schemas.ts'

/** Settings for the access to the Lightning network and the chain. */
export const lightningVariables = {
  lightning: defineVariable(
    'PENSTOCK_LIGHTNING',
    'Lightning network: simulated, or an lnd node',
    oneOf('simulated', 'lnd'),
    'simulated',
  ),
  simnetUrl: defineVariable(
    'PENSTOCK_SIMNET_URL',
    'address of the simulated network, if another process runs it; empty: this process runs it',
    webAddress(),
    '',
  ),
  network: defineVariable(
    'PENSTOCK_NETWORK',
    'required network of lnd: mainnet, testnet, signet or regtest; no process starts with a node of another network',
    oneOf('mainnet', 'testnet', 'signet', 'regtest'),
    'regtest',
  ),
  lndSocket: defineVariable(
    'PENSTOCK_LND_SOCKET',
    "host:port of lnd's gRPC; the host has to be a name, not an IP address",
    hostsAndPorts('one'),
    'localhost:10009',
  ),
  lndCertFile: defineVariable('PENSTOCK_LND_CERT_FILE', "path of lnd's tls.cert", z.string(), ''),
  lndMacaroonFile: defineVariable(
    'PENSTOCK_LND_MACAROON_FILE',
    'macaroon of this process, made by `penstock lnd bake`. Except on regtest, the process refuses a macaroon with more permissions than it needs, or with fewer',
    z.string(),
    '',
  ),
  lndMacaroonDir: defineVariable(
    'PENSTOCK_LND_MACAROON_DIR',
    'folder with the macaroons of `penstock lnd bake`, if PENSTOCK_LND_MACAROON_FILE is empty; each process takes the macaroon of its role',
    z.string(),
    '',
  ),
  bitcoindUrl: defineVariable(
    'PENSTOCK_BITCOIND_URL',
    'RPC of a bitcoind (24 or newer) or btcd, http://user@host:8332, for the mempool and faster look-ups. A btcd answers sooner by its WebSocket, wss://user@host:8334/ws. Empty: blocks come only from lnd',
    serverUrl({
      kind: 'an http:// or https:// url, or a ws:// or wss:// url of a btcd',
      schemes: ['http', 'https', 'ws', 'wss'],
    }),
    '',
  ),
  bitcoindPasswordFile: defineVariable(
    'PENSTOCK_BITCOIND_PASSWORD_FILE',
    "file with the password for PENSTOCK_BITCOIND_URL, or bitcoind's .cookie; empty: the password in the url",
    z.string(),
    '',
  ),
  bitcoindCertFile: defineVariable(
    'PENSTOCK_BITCOIND_CERT_FILE',
    "certificate of the RPC of PENSTOCK_BITCOIND_URL, as btcd has one; empty: the system's authorities",
    z.string(),
    '',
  ),
} as const
