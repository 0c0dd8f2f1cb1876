import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, request, type RequestOptions } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readOrCreate } from './read-or-create.ts'
import { createBlockArchive } from './lightning-blocks.ts'
import { type Daemon, createDaemon } from './lightning-daemon.ts'
import { createMutex } from '@penstock/kernel/mutex.ts'

const HOST = '127.0.0.1'
const USER = 'penstock'
/** Blocks pay to P2WSH(OP_TRUE), which anyone may spend. A payment from these coins then needs no miner's wallet. */
export const ANYONE_CAN_SPEND = {
  address: 'bcrt1qft5p2uhsdcdc3l2ua4ap5qqfg4pjaqlp250x7us7a8qqhrxrxfsqseac85',
  script: '00204ae81572f06e1b88fd5ced7a1a000945432e83e1551e6f721ee9c00b8cc33260',
}
/** From this height on, segwit is active on regtest and the first coins may be spent. */
const FIRST_HEIGHT = 432
/** Making hundreds of blocks takes some seconds. */
const ANSWER_TIMEOUT_MS = 60_000
const [MAX_TRIES, RETRY_DELAY_MS] = [20, 250]
/** lnd considers itself unsynced if the newest block is two hours old. It then opens no channel and does not start. */
const STALE_AFTER_S = 3600

export type Btcd = Daemon & {
  readonly port: number
  readonly user: string
  readonly password: string
  readonly passwordFile: string
  /** The TLS certificate of its RPC. */
  readonly certFile: string
  /** Makes a block if the newest block is so old that lnd would soon consider itself unsynced. */
  readonly mineIfStale: () => Promise<void>
  /** Whether its RPC answers. */
  readonly answers: () => Promise<boolean>
  /** One call of its RPC. @throws Error with btcd's message */
  readonly rpc: <T>(method: string, ...params: readonly unknown[]) => Promise<T>
}

/** RPC methods that make blocks. They run one at a time. */
const BLOCK_MAKING_METHODS = new Set(['generate', 'submitblock', 'reconsiderblock'])

/**
 * Creates a btcd with a regtest chain and an index of transactions. It serves only RPC clients and has no peers.
 * @param isPersistent whether its blocks survive a restart, which btcd does not ensure by itself
 */
export async function createBtcd(program: string, dir: string, port: number, isPersistent = false): Promise<Btcd> {
  await mkdir(dir, { recursive: true })
  const passwordFile = join(dir, 'password')
  const password = await readOrCreate(passwordFile, async () => randomBytes(16).toString('hex'))
  const configuration = join(dir, 'btcd.conf')
  await writeFile(configuration, '')
  const certFile = join(dir, 'rpc.cert')
  const agent = new Agent({ keepAlive: true })
  const call = async <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    const ca = await readFile(certFile)
    const body = JSON.stringify({ jsonrpc: '1.0', id: 1, method, params })
    const text = await post({ host: HOST, port, ca, servername: 'localhost', auth: `${USER}:${password}`, agent }, body)
    const { result, error } = JSON.parse(text) as { result: T; error: { message: string } | null } // The form of JSON-RPC.
    if (error) throw new Error(`${method}: ${error.message}`)
    return result
  }
  const blocks = createBlockArchive(join(dir, 'blocks'), call)
  // Btcd refuses to make blocks concurrently. During its start, its chain is not yet the archived chain.
  const inSequence = createMutex()
  const callAndArchive = async <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    const result = await call<T>(method, ...params)
    if (isPersistent) await blocks.save()
    return result
  }
  const rpc = <T>(method: string, ...params: readonly unknown[]): Promise<T> =>
    BLOCK_MAKING_METHODS.has(method) ? inSequence(() => callAndArchive<T>(method, ...params)) : call<T>(method, ...params)
  const mineIfStale = async (): Promise<void> => {
    const { time } = await call<{ time: number }>('getblock', await call<string>('getbestblockhash'), 1)
    if (Date.now() / 1000 - time > STALE_AFTER_S) await callAndArchive('generate', 1)
  }
  const start = async (signal?: AbortSignal): Promise<void> => {
    await server.start(signal)
    if (isPersistent) await blocks.replay()
    const height = await call<number>('getblockcount')
    if (height < FIRST_HEIGHT) await callAndArchive('generate', FIRST_HEIGHT - height)
    else await mineIfStale()
  }
  const answers = async (): Promise<boolean> => (await call<number>('getblockcount')) >= 0
  const server = createDaemon('btcd', program, dir, buildArguments({ dir, port, configuration, certFile, password }), answers)
  return {
    port,
    user: USER,
    password,
    passwordFile,
    certFile,
    mineIfStale: () => inSequence(mineIfStale),
    answers,
    rpc,
    get pid() {
      return server.pid
    },
    kill: server.kill,
    stop: server.stop,
    readOutput: server.readOutput,
    start: (signal) => inSequence(() => start(signal)),
  }
}

type BtcdArguments = {
  readonly dir: string
  readonly port: number
  readonly configuration: string
  readonly certFile: string
  readonly password: string
}

const buildArguments = ({ dir, port, configuration, certFile, password }: BtcdArguments): readonly string[] => [
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
  // Each lnd holds several connections.
  '--rpcmaxclients=100',
  '--rpcmaxwebsockets=100',
  `--miningaddr=${ANYONE_CAN_SPEND.address}`,
]

/** Repeats a request whose connection a busy btcd has closed before reading it. */
async function post(target: RequestOptions, body: string): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      return await postOnce(target, body)
    } catch (error) {
      if (tries === MAX_TRIES || !/before secure TLS connection was established/.test(String(error))) throw error
      await sleep(RETRY_DELAY_MS)
    }
  }
}

function postOnce(target: RequestOptions, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ ...target, method: 'POST', headers: { 'content-type': 'application/json' } }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('error', reject).on('end', () => resolve(text))
    })
    call.setTimeout(ANSWER_TIMEOUT_MS, () => call.destroy(new Error(`no answer within ${ANSWER_TIMEOUT_MS / 1000} s`)))
    call.on('error', (error) => reject(new Error(`btcd does not answer now: ${error.message}`, { cause: error })))
    call.end(body)
  })
}
