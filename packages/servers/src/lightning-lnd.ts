import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { authenticatedLndGrpc, type AuthenticatedLnd, getWalletInfo } from 'lightning'
import type { Btcd } from './lightning-btcd.ts'
import { type Daemon, daemon } from './lightning-process.ts'

const HOST = '127.0.0.1'

export type LndNode = Daemon & {
  readonly alias: string
  /** Known since its first start. */
  readonly pubkey: string
  /** Where its peers find it. */
  readonly socket: string
  /** Where its owner's calls go: a name, since an IP address is no name for TLS. */
  readonly rpcSocket: string
  readonly certFile: string
  readonly adminMacaroonFile: string
  /** A client of all rights, the same one through all restarts of the node. */
  readonly lnd: AuthenticatedLnd
}

export type LndPlan = {
  readonly alias: string
  readonly dir: string
  readonly peerPort: number
  readonly rpcPort: number
  /** More of lnd's own arguments. */
  readonly args: readonly string[]
}

const QUIET = [
  '--norest',
  '--debuglevel=warn',
  '--logging.file.disable',
  '--nobootstrap',
  '--tlsdisableautofill',
  // A busy machine must not end the node.
  '--healthcheck.chainbackend.attempts=0',
]
/** Where production is patient, and channels of every kind and number. */
const FAST = [
  '--trickledelay=50',
  '--gossip.sub-batch-delay=5ms',
  '--db.batch-commit-interval=10ms',
  '--caches.rpc-graph-cache-duration=100ms',
  '--maxpendingchannels=10',
  '--protocol.wumbo-channels',
  '--protocol.simple-taproot-chans',
]

const chainArguments = ({ port, user, password, certFile }: Btcd): readonly string[] => [
  '--bitcoin.regtest',
  '--bitcoin.node=btcd',
  `--btcd.rpchost=${HOST}:${port}`,
  `--btcd.rpcuser=${user}`,
  `--btcd.rpcpass=${password}`,
  `--btcd.rpccert=${certFile}`,
]

/** gRPC waits longer and longer between its attempts to connect, in the end longer than a node is given to start. */
const NEW_CLIENT_AFTER_MS = 5000

/** An lnd on a chain of our own. It is ready when it is in step with the chain. */
export function lndNode(program: string, chain: Btcd, { alias, dir, peerPort, rpcPort, args }: LndPlan): LndNode {
  const socket = `${HOST}:${peerPort}`
  const rpcSocket = `localhost:${rpcPort}`
  const certFile = join(dir, 'tls.cert')
  const adminMacaroonFile = join(dir, 'data/chain/bitcoin/regtest/admin.macaroon')
  let client: AuthenticatedLnd | undefined
  let goneAt = 0
  let pubkey = ''

  async function isReady(): Promise<boolean> {
    if (!client) {
      const [cert, macaroon] = await Promise.all([readFile(certFile, 'base64'), readFile(adminMacaroonFile, 'base64')])
      // The file is there before what is in it.
      if (macaroon === '') return false
      client = authenticatedLndGrpc({ cert, macaroon, socket: rpcSocket }).lnd
    }
    const info = await getWalletInfo({ lnd: client })
    pubkey = info.public_key
    return info.is_synced_to_chain
  }
  const all = [
    `--lnddir=${dir}`,
    `--alias=${alias}`,
    '--noseedbackup',
    `--listen=${socket}`,
    `--externalip=${socket}`,
    `--rpclisten=${rpcSocket}`,
    ...QUIET,
    ...chainArguments(chain),
    ...FAST,
    ...args,
  ]
  const server = daemon(alias, program, dir, all, isReady)
  const gone = (end: () => Promise<void>) => async (): Promise<void> => {
    await end()
    goneAt = performance.now()
  }
  return {
    alias,
    socket,
    rpcSocket,
    certFile,
    adminMacaroonFile,
    async start() {
      if (performance.now() - goneAt > NEW_CLIENT_AFTER_MS) client = undefined
      await server.start()
    },
    kill: gone(server.kill),
    stop: gone(server.stop),
    said: server.said,
    get pid() {
      return server.pid
    },
    get pubkey() {
      return pubkey
    },
    get lnd() {
      if (!client) throw new Error(`${alias} was never started`)
      return client
    },
  }
}
