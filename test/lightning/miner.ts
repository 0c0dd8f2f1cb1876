import { bytesToHex, hash256, hexToBytes } from '@penstock/bitcoin/hex.ts'
import { readTransaction } from '@penstock/bitcoin/raw-encoding.ts'
import { blockHash, merkleRoot } from '@penstock/bitcoin/transaction.ts'
import { ANYONE_CAN_SPEND } from '@penstock/servers/lightning-btcd.ts'
import { type LightningServers, OutOfSyncError } from '@penstock/servers/lightning.ts'
import { inspect } from 'node:util'

/** The difficulty bits of regtest. On average, every second hash satisfies them. */
const BITS = 'ffff7f20'
const HALVING = 150
const MEDIAN_OF = 11

/**
 * Mines blocks that contain only the given transactions, on the tip or on a branch that becomes longer. btcd itself would
 * include all of its mempool.
 */
export function createManualMiner({ chain, waitUntilSynced }: Pick<LightningServers, 'chain' | 'waitUntilSynced'>) {
  /** Mines `count` blocks on `parent`. @param transactions in hex, for the new block number `blockIndex`, counted from 1 */
  async function mineOn(parent: string, count: number, transactions: readonly string[], blockIndex = 1): Promise<void> {
    const { height, time } = await findNewest(parent)
    const startTime = Math.max(time, Math.floor(Date.now() / 1000) - count)
    let previousHash = parent
    for (let index = 1; index <= count; index++) {
      const header = { previousHash, time: startTime + index, height: height + index }
      const block = makeBlock(header, index === blockIndex ? transactions : [])
      const rejection = await chain.rpc<string | null>('submitblock', block.hex)
      if (rejection !== null) throw new Error(`btcd refused the block at ${header.height}: ${rejection}`)
      previousHash = block.hash
    }
    await syncOrRestart(waitUntilSynced)
  }
  type Header = { readonly height: number; readonly time: number; readonly previousblockhash: string }

  /** Reads the newest timestamp of the last 11 blocks. A block is valid if its timestamp is after their median. */
  async function findNewest(parent: string): Promise<{ readonly height: number; readonly time: number }> {
    const headers: Header[] = []
    for (let hash = parent; headers.length < MEDIAN_OF; hash = headers.at(-1)?.previousblockhash ?? '')
      headers.push(await chain.rpc<Header>('getblockheader', hash, true))
    return { height: headers[0]?.height ?? 0, time: Math.max(...headers.map(({ time }) => time)) }
  }
  return {
    /** Mines on the tip. The first block contains the given transactions, and no block takes any from the mempool. */
    extend: async (count: number, transactions: readonly string[] = []) =>
      mineOn(await chain.rpc('getbestblockhash'), count, transactions),
    /** Replaces the last `depth` blocks by `depth + 1` blocks with other contents. */
    async replace(depth: number, transactions: readonly string[] = [], blockIndex = 1): Promise<void> {
      const height = await chain.rpc<number>('getblockcount')
      await mineOn(await chain.rpc('getblockhash', height - depth), depth + 1, transactions, blockIndex)
    },
    raw: (txid: string): Promise<string> => chain.rpc('getrawtransaction', txid, 0),
    mempool: (): Promise<readonly string[]> => chain.rpc('getrawmempool'),
  }
}

export type ManualMiner = ReturnType<typeof createManualMiner>

/** Waits until all nodes have the tip. An lnd may stop following the chain during re-organisations, and is restarted once. */
async function syncOrRestart(waitUntilSynced: () => Promise<void>): Promise<void> {
  try {
    await waitUntilSynced()
  } catch (error) {
    if (!(error instanceof OutOfSyncError)) throw error
    process.stderr.write(`lnd is killed and started again: ${inspect(error)}\n`)
    await error.node.kill()
    await error.node.start()
    await waitUntilSynced()
  }
}

type BlockPosition = { readonly previousHash: string; readonly time: number; readonly height: number }

function makeBlock({ previousHash, time, height }: BlockPosition, transactions: readonly string[]) {
  const hashes = transactions.map((raw) => toDisplayHex(hash256(hexToBytes(raw))))
  const coinbase = createCoinbase(height, merkleRoot(['00'.repeat(32), ...hashes]))
  const root = merkleRoot([coinbase.txid, ...transactions.map((raw) => readTransaction(raw).txid)])
  for (let nonce = 0; ; nonce++) {
    const hash = blockHash({ previousHash, merkleRoot: root, time, nonce })
    if (Number.parseInt(hash.slice(0, 2), 16) >= 0x7f) continue
    const header = [
      '00000020',
      reverseBytes(previousHash),
      reverseBytes(root),
      toLittleEndian(time, 4),
      BITS,
      toLittleEndian(nonce, 4),
    ]
    return { hash, hex: [...header, toLittleEndian(1 + transactions.length, 1), coinbase.raw, ...transactions].join('') }
  }
}

/** Creates a coinbase that commits to the block's witnesses (BIP 141) and contains its height (BIP 34). */
function createCoinbase(height: number, witnessRoot: string) {
  const reserved = '00'.repeat(32)
  const commitment = bytesToHex(hash256(hexToBytes(reverseBytes(witnessRoot) + reserved)))
  const reward = Math.floor(50e8 / 2 ** Math.floor(height / HALVING))
  const extraNonce = Math.floor(Math.random() * 2 ** 32)
  const outputs = [
    toLittleEndian(reward, 8),
    '22',
    ANYONE_CAN_SPEND.script,
    toLittleEndian(0, 8),
    '26',
    '6a24aa21a9ed',
    commitment,
  ]
  const body = [
    '01',
    reserved,
    'ffffffff',
    '08',
    '02',
    toLittleEndian(height, 2),
    '04',
    toLittleEndian(extraNonce, 4),
    'ffffffff',
    '02',
    ...outputs,
  ]
  const raw = ['02000000', '0001', ...body, '01', '20', reserved, '00000000'].join('')
  return { raw, txid: readTransaction(raw).txid }
}

const reverseBytes = (hex: string): string => bytesToHex(hexToBytes(hex).reverse())
const toDisplayHex = (hash: Uint8Array): string => bytesToHex(hash.reverse())
const toLittleEndian = (value: number, bytes: number): string =>
  reverseBytes(
    BigInt(value)
      .toString(16)
      .padStart(2 * bytes, '0'),
  )
