import { z } from 'zod'
import { oneOf, urlOf, variable } from './config-values.ts'

/** Where the Lightning network and the chain are. */
export const lightningVariables = {
  lightning: variable(
    'PENSTOCK_LIGHTNING',
    'the Lightning network: a simulated one, or an lnd node',
    oneOf('simulated', 'lnd'),
    'simulated',
  ),
  simnetUrl: variable(
    'PENSTOCK_SIMNET_URL',
    'where the simulated network is, when another process keeps it; empty: in this process',
    z.string(),
    '',
  ),
  network: variable(
    'PENSTOCK_NETWORK',
    'the network that lnd must be on: mainnet, testnet, signet or regtest; nothing starts with a node of another',
    oneOf('mainnet', 'testnet', 'signet', 'regtest'),
    'regtest',
  ),
  lndSocket: variable('PENSTOCK_LND_SOCKET', "host:port of lnd's gRPC; a name, not an IP address", z.string(), 'localhost:10009'),
  lndCertFile: variable('PENSTOCK_LND_CERT_FILE', "lnd's tls.cert", z.string(), ''),
  lndMacaroonFile: variable(
    'PENSTOCK_LND_MACAROON_FILE',
    'macaroon of this process, made by `penstock lnd bake`; one that allows more than the process needs, or fewer calls, is refused except on regtest',
    z.string(),
    '',
  ),
  lndMacaroonDir: variable(
    'PENSTOCK_LND_MACAROON_DIR',
    'folder that `penstock lnd bake` put macaroons into, where no file is named: each process takes the one of its role',
    z.string(),
    '',
  ),
  bitcoindUrl: variable(
    'PENSTOCK_BITCOIND_URL',
    'RPC of a bitcoind (24 or newer) or btcd, http://user@host:8332, for the mempool and quicker look-ups; a btcd answers sooner by its socket, wss://user@host:8334/ws; empty: blocks come from lnd alone',
    urlOf('an http:// or https:// url, or a ws:// or wss:// url of a btcd', /^(?:https?|wss?):\/\/./),
    '',
  ),
  bitcoindPasswordFile: variable(
    'PENSTOCK_BITCOIND_PASSWORD_FILE',
    "file with its password, or bitcoind's .cookie; empty: the one in the url",
    z.string(),
    '',
  ),
  bitcoindCertFile: variable(
    'PENSTOCK_BITCOIND_CERT_FILE',
    "certificate of its RPC, as btcd has; empty: the system's authorities",
    z.string(),
    '',
  ),
} as const
