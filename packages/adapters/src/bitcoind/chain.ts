import { type Outpoint, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Chain, ChainTip, Output } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { NodeInfo } from '@penstock/ports/lightning.ts'
import { blockScan } from '../blocks/scan.ts'
import { changing } from '../shared/changing.ts'
import { networkOfGenesis } from '../shared/genesis.ts'
import { NOT_FOUND, type Rpc, RpcRefusal } from './rpc.ts'

const POLL_MS = 1000
/** Two answers about one output that do not fit together are asked for again: a block came in between. */
const ATTEMPTS = 3
/** bitcoind reads an index as a signed number of 32 bits (src/rpc/mempool.cpp). */
const HIGHEST_INDEX = 0x7fff_ffff

/** The chain and the mempool of a bitcoind (24 or newer) or btcd. It needs no index of transactions. */
export function rpcChain(rpc: Rpc, clock: Clock, { pollMs = POLL_MS }: { readonly pollMs?: number } = {}): Chain {
  const scan = blockScan(
    {
      tipHeight: () => rpc<number>('getblockcount'),
      hashAt: (height) => rpc<string>('getblockhash', height),
      block: (hash) => rpc<string>('getblock', hash, 0),
    },
    clock,
  )
  const places = indexInBlock(rpc)
  const headers = headersOf(rpc)
  const looks = firstLooks(clock)
  const tip = (): Promise<ChainTip> => rpcTip(rpc, headers)
  return {
    sees: { mempool: true },
    tip,
    async output(text, fromHeight) {
      const outpoint = parseOutpoint(text)
      // No block has room for so many outputs, and bitcoind refuses to look for one of them.
      if (!outpoint || outpoint.vout > HIGHEST_INDEX) return undefined
      // Together they cost no more time than one of them, and most outputs need both.
      const [found, spentBy] = await Promise.all([
        rpc<UnspentOutput | null>('gettxout', outpoint.txid, outpoint.vout, false),
        spentInMempool(rpc, outpoint),
      ])
      const output = (await unspent(rpc, { places, headers }, outpoint, found)) ?? (await unconfirmed(rpc, outpoint))
      if (output?.height === null) looks.keep(outpoint.txid)
      return output ? { outpoint: text, ...output, spentBy } : scan.output(text, fromHeight)
    },
    async enteredMempoolAt(text) {
      const txid = parseOutpoint(text)?.txid
      if (txid === undefined) return null
      // bitcoind forgets with the block when a transaction came.
      return (await mempoolTime(rpc, txid)) ?? looks.of(txid)
    },
    tips: (signal) => changing({ read: tip, pollMs, clock, signal }),
    feeRate: (targetBlocks) => feeRate(rpc, targetBlocks),
  }
}

/** The network that the node is on. @throws Fault where it is none that Penstock knows */
export async function rpcNetwork(rpc: Rpc): Promise<NodeInfo['network']> {
  const first = await rpc<string>('getblockhash', 0)
  const network = networkOfGenesis(first)
  if (network) return network
  throw new Fault(`the bitcoin node is on a chain that Penstock does not know: its first block is ${first}`)
}

type Header = { readonly height: number; readonly previousblockhash?: string; readonly time: number }
type Headers = (hash: string) => Promise<Header>

/** Headers never change, and all who ask at a time ask for the newest. */
function headersOf(rpc: Rpc): Headers {
  const KEPT = 20
  const known = new Map<string, Header>()
  return async (hash) => {
    const header = known.get(hash) ?? (await rpc<Header>('getblockheader', hash, true))
    known.set(hash, header)
    for (const [oldest] of known) if (known.size > KEPT) known.delete(oldest)
    return header
  }
}

async function rpcTip(rpc: Rpc, headers: Headers): Promise<ChainTip> {
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

type Found = Omit<Output, 'outpoint' | 'spentBy'>

/** In a block, and no block has spent it. */
async function unspent(
  rpc: Rpc,
  { places, headers }: { readonly places: IndexInBlock; readonly headers: Headers },
  { txid, vout }: Outpoint,
  first: UnspentOutput | null,
): Promise<Found | undefined> {
  let found = first
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (!found || found.confirmations < 1) return undefined
    const best = await headers(found.bestblock)
    const height = best.height - found.confirmations + 1
    const txIndex = await places(height, txid)
    if (txIndex !== undefined) return { valueSat: satOf(found.value), script: found.scriptPubKey.hex, height, txIndex }
    found = await rpc<UnspentOutput | null>('gettxout', txid, vout, false)
  }
  return undefined
}

type Transaction = {
  readonly confirmations?: number
  readonly vout: readonly { readonly n: number; readonly value: number; readonly scriptPubKey: { readonly hex: string } }[]
}

/** In the mempool. */
async function unconfirmed(rpc: Rpc, { txid, vout }: Outpoint): Promise<Found | undefined> {
  const transaction = await orNothing(() => rpc<Transaction>('getrawtransaction', txid, 1))
  const output = transaction?.vout.find(({ n }) => n === vout)
  if (!output || (transaction?.confirmations ?? 0) > 0) return undefined
  return { valueSat: satOf(output.value), script: output.scriptPubKey.hex, height: null, txIndex: null }
}

async function spentInMempool(rpc: Rpc, outpoint: Outpoint): Promise<Output['spentBy']> {
  const [spent] = await rpc<readonly { readonly spendingtxid?: string }[]>('gettxspendingprevout', [outpoint])
  return spent?.spendingtxid ? { txid: spent.spendingtxid, height: null } : null
}

/** When transactions were first found in the mempool by us, of the newest. */
function firstLooks(clock: Clock) {
  const KEPT = 10_000
  const at = new Map<string, number>()
  return {
    keep(txid: string): void {
      if (!at.has(txid)) at.set(txid, clock.now())
      for (const [oldest] of at) if (at.size > KEPT) at.delete(oldest)
    },
    of: (txid: string): number | null => at.get(txid) ?? null,
  }
}

type MempoolEntry = { readonly time: number }

/** bitcoind tells of one entry; btcd has that call among those that it does not carry out, and lists all. */
async function mempoolTime(rpc: Rpc, txid: string): Promise<number | undefined> {
  const SECOND_ENDS_MS = 999
  const entry = await orNothing(async () => {
    try {
      return await rpc<MempoolEntry>('getmempoolentry', txid)
    } catch (error) {
      if (!(error instanceof RpcRefusal && isUnknownCall(error))) throw error
      return (await rpc<Readonly<Record<string, MempoolEntry>>>('getrawmempool', true))[txid]
    }
  })
  return entry && 1000 * entry.time + SECOND_ENDS_MS
}

/** btcd answers with -1 for calls that it knows by name only (rpcserver.go: ErrRPCUnimplemented). */
const isUnknownCall = ({ code, message }: RpcRefusal): boolean =>
  code === -32601 || (code === -1 && /unimplemented/i.test(message))

type IndexInBlock = (height: number, txid: string) => Promise<number | undefined>

/** Where in a block a transaction stands: of each block that was asked for lately the list is kept. */
function indexInBlock(rpc: Rpc): IndexInBlock {
  const KEPT = 20
  const lists = new Map<string, readonly string[]>()
  return async (height, txid) => {
    const hash = await rpc<string>('getblockhash', height)
    const list = lists.get(hash) ?? (await rpc<{ tx: readonly string[] }>('getblock', hash, 1)).tx
    lists.delete(hash)
    lists.set(hash, list)
    for (const [oldest] of lists) if (lists.size > KEPT) lists.delete(oldest)
    const index = list.indexOf(txid)
    return index === -1 ? undefined : index
  }
}

/**
 * bitcoind has a better estimate than btcd. A node that has seen too few blocks has none, and only on regtest, where nobody
 * else wants a place in a block, one is made up. @throws Fault elsewhere
 */
async function feeRate(rpc: Rpc, targetBlocks: number): Promise<number> {
  const SAT_PER_VBYTE = 1e5
  const smart = await quietly(() => rpc<{ feerate?: number }>('estimatesmartfee', Math.max(1, targetBlocks)))
  const rate = smart?.feerate ?? (smart ? 0 : await quietly(() => rpc<number>('estimatefee', Math.max(1, targetBlocks))))
  if (rate !== undefined && rate > 0) return Math.max(1, Math.round(rate * SAT_PER_VBYTE))
  if ((await rpcNetwork(rpc)) === 'regtest') return 1
  throw new Fault('the bitcoin node has no estimate of fees yet')
}

const satOf = (bitcoins: number): bigint => BigInt(Math.round(bitcoins * 1e8))

/** Only this code says that there is no such transaction; any other error says nothing about it. */
async function orNothing<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof RpcRefusal && error.code === NOT_FOUND) return undefined
    throw error
  }
}

async function quietly<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof RpcRefusal) return undefined
    throw error
  }
}
