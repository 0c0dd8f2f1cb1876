import { type Outpoint, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { type Chain, type ChainTip, type ChainOutput, MempoolUnavailable } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { NodeInfo } from '@penstock/ports/lightning.ts'
import { createBlockScanner } from '../blocks/block-scanner.ts'
import { streamChanges } from '../shared/change-stream.ts'
import { networkOfGenesis } from '../shared/genesis.ts'
import { NOT_FOUND, type Rpc, RpcError } from './rpc.ts'

const POLL_MS = 1000
/** Maximum number of tries of a lookup. A block between two calls of one lookup can make their answers inconsistent. */
const ATTEMPTS = 3
/** bitcoind reads an index as a signed number of 32 bits (src/rpc/mempool.cpp). */
const MAX_OUTPUT_INDEX = 0x7fff_ffff

/** The chain and the mempool of a bitcoind (24 or newer) or btcd. The node needs no transaction index. */
export function rpcChain(rpc: Rpc, clock: Clock, { pollMs = POLL_MS }: { readonly pollMs?: number } = {}): Chain {
  const scan = createBlockScanner(
    {
      tipHeight: () => rpc<number>('getblockcount'),
      hashAt: (height) => rpc<string>('getblockhash', height),
      block: (hash) => rpc<string>('getblock', hash, 0),
    },
    clock,
  )
  const txIndexOf = createTxIndexReader(rpc)
  const headers = createHeaderReader(rpc)
  const firstSeenTimes = createFirstSeenTimes(clock)
  const tip = (): Promise<ChainTip> => readTip(rpc, headers)
  return {
    sees: { mempool: true },
    tip,
    async output(text, fromHeight) {
      const outpoint = parseOutpoint(text)
      // No block has room for that many outputs, and bitcoind rejects such an index.
      if (!outpoint || outpoint.vout > MAX_OUTPUT_INDEX) return undefined
      const { found, spentBy } = await readUnspent(rpc, outpoint)
      const output = (await findUnspent(rpc, { txIndexOf, headers }, outpoint, found)) ?? (await findUnconfirmed(rpc, outpoint))
      if (output?.height === null) firstSeenTimes.record(outpoint.txid)
      if (output) return { outpoint: text, ...output, spentBy }
      const scanned = await scan.output(text, fromHeight)
      return scanned && { ...scanned, spentBy: scanned.spentBy ?? spentBy }
    },
    async enteredMempoolAt(text) {
      const txid = parseOutpoint(text)?.txid
      if (txid === undefined) return null
      // bitcoind forgets the arrival time of a transaction once a block contains the transaction.
      return (await readMempoolTime(rpc, txid)) ?? firstSeenTimes.find(txid)
    },
    tips: (signal) => streamChanges({ read: tip, pollMs, clock, signal }),
    feeRate: (targetBlocks) => estimateFeeRate(rpc, targetBlocks),
  }
}

/** Reads the network of the node. @throws Fault if Penstock does not know the network */
export async function readRpcNetwork(rpc: Rpc): Promise<NodeInfo['network']> {
  const first = await rpc<string>('getblockhash', 0)
  const network = networkOfGenesis(first)
  if (network) return network
  throw new Fault(`the bitcoin node is on a chain that Penstock does not know: its first block is ${first}`)
}

type Header = { readonly height: number; readonly previousblockhash?: string; readonly time: number }
type HeaderReader = (hash: string) => Promise<Header>

/** Caches block headers, which never change. Most calls request the header of the chain tip. */
function createHeaderReader(rpc: Rpc): HeaderReader {
  const MAX_ENTRIES = 20
  const known = new Map<string, Header>()
  return async (hash) => {
    const header = known.get(hash) ?? (await rpc<Header>('getblockheader', hash, true))
    known.set(hash, header)
    for (const [oldest] of known) if (known.size > MAX_ENTRIES) known.delete(oldest)
    return header
  }
}

async function readTip(rpc: Rpc, headers: HeaderReader): Promise<ChainTip> {
  const chain = await rpc<{ bestblockhash: string; blocks: number; headers: number; initialblockdownload?: boolean }>(
    'getblockchaininfo',
  )
  const header = await headers(chain.bestblockhash)
  return {
    height: header.height,
    hash: chain.bestblockhash,
    previousHash: header.previousblockhash ?? '00'.repeat(32),
    time: 1000 * header.time,
    synced: chain.blocks >= chain.headers && chain.initialblockdownload !== true,
  }
}

type UnspentOutput = {
  readonly bestblock: string
  readonly confirmations: number
  readonly value: number
  readonly scriptPubKey: { readonly hex: string }
}

type FoundOutput = Omit<ChainOutput, 'outpoint' | 'spentBy'>

/** Finds an output that is in a block and that no block has spent. */
async function findUnspent(
  rpc: Rpc,
  { txIndexOf, headers }: { readonly txIndexOf: TxIndexReader; readonly headers: HeaderReader },
  { txid, vout }: Outpoint,
  first: UnspentOutput | null,
): Promise<FoundOutput | undefined> {
  let found = first
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (!found || found.confirmations < 1) return undefined
    const best = await headers(found.bestblock)
    const height = best.height - found.confirmations + 1
    const txIndex = await txIndexOf(height, txid)
    if (txIndex !== undefined) return { valueSat: toSat(found.value), script: found.scriptPubKey.hex, height, txIndex }
    found = await rpc<UnspentOutput | null>('gettxout', txid, vout, false)
  }
  return undefined
}

type Transaction = {
  readonly confirmations?: number
  readonly vout: readonly { readonly n: number; readonly value: number; readonly scriptPubKey: { readonly hex: string } }[]
}

/** Finds an output in the mempool. */
async function findUnconfirmed(rpc: Rpc, { txid, vout }: Outpoint): Promise<FoundOutput | undefined> {
  const transaction = await undefinedIfNotFound(() => rpc<Transaction>('getrawtransaction', txid, 1))
  const output = transaction?.vout.find(({ n }) => n === vout)
  if (!output || (transaction?.confirmations ?? 0) > 0) return undefined
  return { valueSat: toSat(output.value), script: output.scriptPubKey.hex, height: null, txIndex: null }
}

/**
 * Reads the output in the blocks and its spend in the mempool, in one state of the chain. A block between the two calls could
 * hide a spend from both, so the output is read before and after the mempool.
 * @throws MempoolUnavailable while the node loads its mempool, or if each try met another block
 */
async function readUnspent(rpc: Rpc, outpoint: Outpoint) {
  const readOutput = () => rpc<UnspentOutput | null>('gettxout', outpoint.txid, outpoint.vout, false)
  const [first, isLoaded] = await Promise.all([readOutput(), isMempoolLoaded(rpc)])
  if (!isLoaded) throw new MempoolUnavailable('the bitcoin node still loads its mempool, so a spend in it is unknown')
  let found = first
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const spentBy = await findMempoolSpend(rpc, outpoint)
    if (!found || spentBy) return { found, spentBy }
    const again = await readOutput()
    if (again?.bestblock === found.bestblock) return { found, spentBy }
    found = again
  }
  throw new MempoolUnavailable(`a block came during each look at ${outpoint.txid}:${outpoint.vout}`)
}

/** btcd, and bitcoind before 0.19, do not report this. They then count as loaded. */
async function isMempoolLoaded(rpc: Rpc): Promise<boolean> {
  const info = await undefinedIfRefused(() => rpc<{ readonly loaded?: boolean } | undefined>('getmempoolinfo'))
  return info?.loaded !== false
}

async function findMempoolSpend(rpc: Rpc, outpoint: Outpoint): Promise<ChainOutput['spentBy']> {
  const [spent] = await rpc<readonly { readonly spendingtxid?: string }[]>('gettxspendingprevout', [outpoint])
  return spent?.spendingtxid ? { txid: spent.spendingtxid, height: null } : null
}

/** Records the time in ms at which this process first found a transaction in the mempool. Keeps only the newest entries. */
function createFirstSeenTimes(clock: Clock) {
  const MAX_ENTRIES = 10_000
  const at = new Map<string, number>()
  return {
    record(txid: string): void {
      if (!at.has(txid)) at.set(txid, clock.now())
      for (const [oldest] of at) if (at.size > MAX_ENTRIES) at.delete(oldest)
    },
    find: (txid: string): number | null => at.get(txid) ?? null,
  }
}

type MempoolEntry = { readonly time: number }

/** Reads the time in ms from bitcoind's `getmempoolentry`. btcd lacks that call, so its whole mempool is read instead. */
async function readMempoolTime(rpc: Rpc, txid: string): Promise<number | undefined> {
  const SECOND_ENDS_MS = 999
  const entry = await undefinedIfNotFound(async () => {
    try {
      return await rpc<MempoolEntry>('getmempoolentry', txid)
    } catch (error) {
      if (!(error instanceof RpcError && isUnknownCall(error))) throw error
      return (await rpc<Readonly<Record<string, MempoolEntry>>>('getrawmempool', true))[txid]
    }
  })
  return entry && 1000 * entry.time + SECOND_ENDS_MS
}

/** btcd answers with -1 for calls that it knows by name only (rpcserver.go: ErrRPCUnimplemented). */
const isUnknownCall = ({ code, message }: RpcError): boolean => code === -32601 || (code === -1 && /unimplemented/i.test(message))

type TxIndexReader = (height: number, txid: string) => Promise<number | undefined>

/** Finds the index of a transaction in its block. It caches the transaction lists of recently used blocks. */
function createTxIndexReader(rpc: Rpc): TxIndexReader {
  const MAX_ENTRIES = 20
  const lists = new Map<string, readonly string[]>()
  return async (height, txid) => {
    const hash = await rpc<string>('getblockhash', height)
    const list = lists.get(hash) ?? (await rpc<{ tx: readonly string[] }>('getblock', hash, 1)).tx
    lists.delete(hash)
    lists.set(hash, list)
    for (const [oldest] of lists) if (lists.size > MAX_ENTRIES) lists.delete(oldest)
    const index = list.indexOf(txid)
    return index === -1 ? undefined : index
  }
}

/**
 * Estimates a fee rate in sat/vB by `estimatesmartfee` (bitcoind), or else by `estimatefee` (btcd). A node that has seen too few
 * blocks has no estimate. The rate is then 1 on regtest, where transactions do not compete for block space.
 * @throws Fault on other networks without an estimate
 */
async function estimateFeeRate(rpc: Rpc, targetBlocks: number): Promise<number> {
  const SAT_PER_VBYTE = 1e5
  const smart = await undefinedIfRefused(() => rpc<{ feerate?: number }>('estimatesmartfee', Math.max(1, targetBlocks)))
  const rate =
    smart?.feerate ?? (smart ? 0 : await undefinedIfRefused(() => rpc<number>('estimatefee', Math.max(1, targetBlocks))))
  if (rate !== undefined && rate > 0) return Math.max(1, Math.round(rate * SAT_PER_VBYTE))
  if ((await readRpcNetwork(rpc)) === 'regtest') return 1
  throw new Fault('the bitcoin node has no estimate of fees yet')
}

const toSat = (bitcoins: number): bigint => BigInt(Math.round(bitcoins * 1e8))

/** Only the code NOT_FOUND means that the transaction does not exist. */
async function undefinedIfNotFound<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof RpcError && error.code === NOT_FOUND) return undefined
    throw error
  }
}

async function undefinedIfRefused<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof RpcError) return undefined
    throw error
  }
}
