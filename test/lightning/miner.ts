import { bytesToHex, hash256, hexToBytes } from '@penstock/bitcoin/hex.ts'
import { readTransaction } from '@penstock/bitcoin/raw.ts'
import { blockHash, merkleRoot } from '@penstock/bitcoin/transaction.ts'
import { ANYONE } from '@penstock/servers/lightning-btcd.ts'
import { type LightningServers, OutOfStep } from '@penstock/servers/lightning.ts'
import { inspect } from 'node:util'

/** Of regtest: every second hash will do. */
const BITS = 'ffff7f20'
const HALVING = 150
const MEDIAN_OF = 11

/**
 * Blocks made by hand, since btcd puts all that waits into its own: they hold what they are given and nothing else, on the
 * tip or on a branch that overtakes it.
 */
export function miner({ chain, inStep }: Pick<LightningServers, 'chain' | 'inStep'>) {
  /** @param transactions in hex; the `having`-th of the blocks has them */
  async function on(parent: string, count: number, transactions: readonly string[], having = 1): Promise<void> {
    const { height, time } = await newestOf(parent)
    const before = Math.max(time, Math.floor(Date.now() / 1000) - count)
    let previousHash = parent
    for (let index = 1; index <= count; index++) {
      const header = { previousHash, time: before + index, height: height + index }
      const block = makeBlock(header, index === having ? transactions : [])
      const refused = await chain.rpc<string | null>('submitblock', block.hex)
      if (refused !== null) throw new Error(`btcd refused the block at ${header.height}: ${refused}`)
      previousHash = block.hash
    }
    await followed(inStep)
  }
  type Header = { readonly height: number; readonly time: number; readonly previousblockhash: string }

  /** A block must be younger than half of those before it: none is as young as the youngest of them. */
  async function newestOf(parent: string): Promise<{ readonly height: number; readonly time: number }> {
    const headers: Header[] = []
    for (let hash = parent; headers.length < MEDIAN_OF; hash = headers.at(-1)?.previousblockhash ?? '')
      headers.push(await chain.rpc<Header>('getblockheader', hash, true))
    return { height: headers[0]?.height ?? 0, time: Math.max(...headers.map(({ time }) => time)) }
  }
  return {
    /** Blocks with nothing in them but what they are given, whatever waits. */
    extend: async (count: number, transactions: readonly string[] = []) =>
      on(await chain.rpc('getbestblockhash'), count, transactions),
    /** Replaces the last blocks by one more, with other contents. */
    async replace(depth: number, transactions: readonly string[] = [], having = 1): Promise<void> {
      const height = await chain.rpc<number>('getblockcount')
      await on(await chain.rpc('getblockhash', height - depth), depth + 1, transactions, having)
    },
    raw: (txid: string): Promise<string> => chain.rpc('getrawtransaction', txid, 0),
    mempool: (): Promise<readonly string[]> => chain.rpc('getrawmempool'),
  }
}

export type Miner = ReturnType<typeof miner>

/** Among blocks and re-organisations lnd may stop following the chain until it is started again. Once is enough. */
async function followed(inStep: () => Promise<void>): Promise<void> {
  try {
    await inStep()
  } catch (error) {
    if (!(error instanceof OutOfStep)) throw error
    process.stderr.write(`lnd is killed and started again: ${inspect(error)}\n`)
    await error.node.kill()
    await error.node.start()
    await inStep()
  }
}

type Place = { readonly previousHash: string; readonly time: number; readonly height: number }

function makeBlock({ previousHash, time, height }: Place, transactions: readonly string[]) {
  const hashes = transactions.map((raw) => shown(hash256(hexToBytes(raw))))
  const coinbase = coinbaseOf(height, merkleRoot(['00'.repeat(32), ...hashes]))
  const root = merkleRoot([coinbase.txid, ...transactions.map((raw) => readTransaction(raw).txid)])
  for (let nonce = 0; ; nonce++) {
    const hash = blockHash({ previousHash, merkleRoot: root, time, nonce })
    if (Number.parseInt(hash.slice(0, 2), 16) >= 0x7f) continue
    const header = ['00000020', turned(previousHash), turned(root), little(time, 4), BITS, little(nonce, 4)]
    return { hash, hex: [...header, little(1 + transactions.length, 1), coinbase.raw, ...transactions].join('') }
  }
}

/** Commits to the witnesses of the block (BIP 141), and names its height (BIP 34). */
function coinbaseOf(height: number, witnessRoot: string) {
  const reserved = '00'.repeat(32)
  const commitment = bytesToHex(hash256(hexToBytes(turned(witnessRoot) + reserved)))
  const reward = Math.floor(50e8 / 2 ** Math.floor(height / HALVING))
  const tail = Math.floor(Math.random() * 2 ** 32)
  const outputs = [little(reward, 8), '22', ANYONE.script, little(0, 8), '26', '6a24aa21a9ed', commitment]
  const body = ['01', reserved, 'ffffffff', '08', '02', little(height, 2), '04', little(tail, 4), 'ffffffff', '02', ...outputs]
  const raw = ['02000000', '0001', ...body, '01', '20', reserved, '00000000'].join('')
  return { raw, txid: readTransaction(raw).txid }
}

const turned = (hex: string): string => bytesToHex(hexToBytes(hex).reverse())
const shown = (hash: Uint8Array): string => bytesToHex(hash.reverse())
const little = (value: number, bytes: number): string =>
  turned(
    BigInt(value)
      .toString(16)
      .padStart(2 * bytes, '0'),
  )
