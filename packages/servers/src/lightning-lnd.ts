import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { authenticatedLndGrpc, type AuthenticatedLnd, getWalletInfo, getWalletStatus, unauthenticatedLndGrpc } from 'lightning'
import type { Btcd } from './lightning-btcd.ts'
import { type Daemon, createDaemon } from './lightning-daemon.ts'

const HOST = '127.0.0.1'

export type LndNode = Daemon & {
  readonly alias: string
  /** Empty before its first start. */
  readonly pubkey: string
  /** `host:port` for its peers. */
  readonly socket: string
  /** `host:port` for its owner's calls. The host is a name, since TLS needs one instead of an IP address. */
  readonly rpcSocket: string
  readonly certFile: string
  readonly adminMacaroonFile: string
  /** Resolves if lnd answers, even if it is locked, starting or waiting for its chain. @throws Error if lnd does not answer */
  readonly answers: () => Promise<boolean>
  /** A client with all rights. A restart of the node may replace it. */
  readonly lnd: AuthenticatedLnd
}

export type LndPlan = {
  readonly alias: string
  readonly dir: string
  readonly peerPort: number
  readonly rpcPort: number
  /** Additional arguments of lnd. */
  readonly args: readonly string[]
}

const QUIET_FLAGS = [
  '--norest',
  '--debuglevel=warn',
  '--logging.file.disable',
  '--nobootstrap',
  '--tlsdisableautofill',
  // The health check would end the node on a busy machine.
  '--healthcheck.chainbackend.attempts=0',
]
/** Shorter delays than in production, and channels of every kind and in any number. */
const FAST_FLAGS = [
  '--trickledelay=50',
  '--gossip.sub-batch-delay=5ms',
  '--db.batch-commit-interval=10ms',
  '--caches.rpc-graph-cache-duration=100ms',
  '--maxpendingchannels=10',
  '--protocol.wumbo-channels',
  '--protocol.simple-taproot-chans',
]

const buildChainArguments = ({ port, user, password, certFile }: Btcd): readonly string[] => [
  '--bitcoin.regtest',
  '--bitcoin.node=btcd',
  `--btcd.rpchost=${HOST}:${port}`,
  `--btcd.rpcuser=${user}`,
  `--btcd.rpcpass=${password}`,
  `--btcd.rpccert=${certFile}`,
]

type Sockets = { readonly socket: string; readonly rpcSocket: string }

const buildArguments = ({ alias, dir, args, socket, rpcSocket }: LndPlan & Sockets, chain: Btcd): readonly string[] => [
  `--lnddir=${dir}`,
  `--alias=${alias}`,
  '--noseedbackup',
  `--listen=${socket}`,
  `--externalip=${socket}`,
  `--rpclisten=${rpcSocket}`,
  ...QUIET_FLAGS,
  ...buildChainArguments(chain),
  ...FAST_FLAGS,
  ...args,
]

/** gRPC's back-off between connection attempts grows beyond a node's start timeout, so a new client replaces the old one. */
const NEW_CLIENT_AFTER_MS = 5000

/** Creates an lnd on our regtest chain. It is ready when it is synced to the chain. */
export function createLndNode(program: string, chain: Btcd, plan: LndPlan): LndNode {
  const { alias, dir, peerPort, rpcPort } = plan
  const socket = `${HOST}:${peerPort}`
  const rpcSocket = `localhost:${rpcPort}`
  const certFile = join(dir, 'tls.cert')
  const adminMacaroonFile = join(dir, 'data/chain/bitcoin/regtest/admin.macaroon')
  let client: AuthenticatedLnd | undefined
  let stoppedAt = 0
  let pubkey = ''

  async function isReady(): Promise<boolean> {
    if (!client) {
      const [cert, macaroon] = await Promise.all([readFile(certFile, 'base64'), readFile(adminMacaroonFile, 'base64')])
      // The file exists before its content is written.
      if (macaroon === '') return false
      client = authenticatedLndGrpc({ cert, macaroon, socket: rpcSocket }).lnd
    }
    const info = await getWalletInfo({ lnd: client })
    pubkey = info.public_key
    return info.is_synced_to_chain
  }
  const server = createDaemon(alias, program, dir, buildArguments({ socket, rpcSocket, ...plan }, chain), isReady)
  const recordingStop = (end: () => Promise<void>) => async (): Promise<void> => {
    await end()
    stoppedAt = performance.now()
  }
  return {
    alias,
    socket,
    rpcSocket,
    certFile,
    adminMacaroonFile,
    async start(signal) {
      if (performance.now() - stoppedAt > NEW_CLIENT_AFTER_MS) client = undefined
      await server.start(signal)
    },
    answers: () => answers(certFile, rpcSocket),
    kill: recordingStop(server.kill),
    stop: recordingStop(server.stop),
    readOutput: server.readOutput,
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

/** Requests lnd's state. lnd answers this request without its chain, so the call does not hang while lnd waits for btcd. */
async function answers(certFile: string, socket: string): Promise<boolean> {
  const { lnd } = unauthenticatedLndGrpc({ cert: await readFile(certFile, 'base64'), socket })
  try {
    await getWalletStatus({ lnd })
    return true
  } finally {
    for (const service of Object.values(lnd) as readonly { close(): void }[]) service.close() // Clients of grpc-js.
  }
}
