import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, request, type RequestOptions } from 'node:https'
import { join } from 'node:path'
import { kept } from './kept.ts'
import { keptBlocks } from './lightning-blocks.ts'
import { type Daemon, daemon } from './lightning-process.ts'
import { oneAtATime } from './lightning-turn.ts'

const HOST = '127.0.0.1'
const USER = 'penstock'
/** Blocks pay to P2WSH(OP_TRUE): anyone may spend it, so coins are handed out without a miner's wallet. */
export const ANYONE = {
  address: 'bcrt1qft5p2uhsdcdc3l2ua4ap5qqfg4pjaqlp250x7us7a8qqhrxrxfsqseac85',
  script: '00204ae81572f06e1b88fd5ced7a1a000945432e83e1551e6f721ee9c00b8cc33260',
}
/** From here on segwit is in force on regtest, and the first coins may be spent. */
const FIRST_HEIGHT = 432
/** Making hundreds of blocks takes some seconds. */
const ANSWER_MS = 60_000
/** lnd believes itself behind when the newest block is two hours old, and then opens no channel and does not start. */
const STALE_S = 3600

export type Btcd = Daemon & {
  readonly port: number
  readonly user: string
  readonly password: string
  readonly passwordFile: string
  /** The certificate that its RPC shows. */
  readonly certFile: string
  /** Makes a block where the newest one is so old that lnd would think it had missed some. */
  readonly freshen: () => Promise<void>
  /** One call of its RPC. @throws Error with its own words */
  readonly rpc: <T>(method: string, ...params: readonly unknown[]) => Promise<T>
}

/** What makes blocks: one call at a time. */
const MAKES_BLOCKS = new Set(['generate', 'submitblock', 'reconsiderblock'])

/**
 * A chain of our own (regtest) with an index of transactions, for RPC clients only: it has no peers.
 * @param isKept its blocks are there again after a restart, which btcd does not see to by itself
 */
export async function btcdNode(program: string, dir: string, port: number, isKept = false): Promise<Btcd> {
  await mkdir(dir, { recursive: true })
  const passwordFile = join(dir, 'password')
  const password = await kept(passwordFile, async () => randomBytes(16).toString('hex'))
  const configuration = join(dir, 'btcd.conf')
  await writeFile(configuration, '')
  const certFile = join(dir, 'rpc.cert')
  const agent = new Agent({ keepAlive: true })
  const call = async <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    const ca = await readFile(certFile)
    const body = JSON.stringify({ jsonrpc: '1.0', id: 1, method, params })
    const text = await post({ host: HOST, port, ca, servername: 'localhost', auth: `${USER}:${password}`, agent }, body)
    const { result, error } = JSON.parse(text) as { result: T; error: { message: string } | null } // JSON-RPC's own form
    if (error) throw new Error(`${method}: ${error.message}`)
    return result
  }
  const blocks = keptBlocks(join(dir, 'blocks'), call)
  // btcd refuses to make blocks while it makes some, and while it starts its chain is not yet the one that was kept.
  const inTurn = oneAtATime()
  const make = async <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    const result = await call<T>(method, ...params)
    if (isKept) await blocks.keep()
    return result
  }
  const rpc = <T>(method: string, ...params: readonly unknown[]): Promise<T> =>
    MAKES_BLOCKS.has(method) ? inTurn(() => make<T>(method, ...params)) : call<T>(method, ...params)
  const freshen = async (): Promise<void> => {
    const { time } = await call<{ time: number }>('getblock', await call<string>('getbestblockhash'), 1)
    if (Date.now() / 1000 - time > STALE_S) await make('generate', 1)
  }
  const start = async (): Promise<void> => {
    await server.start()
    if (isKept) await blocks.replay()
    const height = await call<number>('getblockcount')
    if (height < FIRST_HEIGHT) await make('generate', FIRST_HEIGHT - height)
    else await freshen()
  }
  const server = daemon(
    'btcd',
    program,
    dir,
    argumentsOf({ dir, port, configuration, certFile, password }),
    async () => (await call<number>('getblockcount')) >= 0,
  )
  return {
    port,
    user: USER,
    password,
    passwordFile,
    certFile,
    freshen: () => inTurn(freshen),
    rpc,
    get pid() {
      return server.pid
    },
    kill: server.kill,
    stop: server.stop,
    said: server.said,
    start: () => inTurn(start),
  }
}

type Place = {
  readonly dir: string
  readonly port: number
  readonly configuration: string
  readonly certFile: string
  readonly password: string
}

const argumentsOf = ({ dir, port, configuration, certFile, password }: Place): readonly string[] => [
  '--regtest',
  `--configfile=${configuration}`,
  `--datadir=${join(dir, 'data')}`,
  `--logdir=${join(dir, 'logs')}`,
  '--debuglevel=warn',
  '--nolisten',
  '--txindex',
  `--rpclisten=${HOST}:${port}`,
  `--rpcuser=${USER}`,
  `--rpcpass=${password}`,
  `--rpccert=${certFile}`,
  `--rpckey=${join(dir, 'rpc.key')}`,
  // Each lnd holds several.
  '--rpcmaxclients=100',
  '--rpcmaxwebsockets=100',
  `--miningaddr=${ANYONE.address}`,
]

function post(target: RequestOptions, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ ...target, method: 'POST', headers: { 'content-type': 'application/json' } }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('error', reject).on('end', () => resolve(text))
    })
    call.setTimeout(ANSWER_MS, () => call.destroy(new Error(`nothing within ${ANSWER_MS / 1000} s`)))
    call.on('error', (error) => reject(new Error(`btcd does not answer now: ${error.message}`, { cause: error })))
    call.end(body)
  })
}
