import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { Network } from '@penstock/cluster/regtest/network.ts'
import { OutOfStep } from '@penstock/servers/lightning.ts'
import { miner as handMiner } from '../../lightning/miner.ts'

/** By then the guard has settled or cancelled. */
const GUARD_BLOCKS = 24
/**
 * A market or a node that was just killed needs a while until it guards again: the guard may come by its clock alone, after
 * 30 s, and then waits for three answers, each up to 23 s.
 */
const GUARDS_WITHIN_MS = 120_000
const AGAIN_MS = 100

type Blocks = {
  /** @param count so many without a look in between */
  mine(count?: number): Promise<void>
  reorganise(depth: number): Promise<void>
}

/** Also blocks that wait for nobody, one of which has these transactions and no others. */
export type OwnBlocks = Blocks & {
  extend(count: number, transactions?: readonly string[]): Promise<void>
  /**
   * A branch comes as one: nothing can be done between what it takes back and what it brings.
   * @param having which of its blocks has the transactions; the first is 1
   */
  replace(depth: number, transactions?: readonly string[], having?: number): Promise<void>
  /** What has made such blocks up to a last height waits for this before the next one. */
  guarded(): Promise<void>
}

/** The one hand that makes blocks, so that it can be said what was held at which height. */
export type Miner = Blocks & {
  /** Lets somebody make blocks by himself, with nobody else's in between. */
  alone<T>(work: (blocks: OwnBlocks) => Promise<T>): Promise<T>
  /** Holds that were found where none may be. */
  readonly faults: readonly string[]
}

/**
 * After each block every hold whose last height has come has to be gone before the next block: nobody may count on the chain
 * to wait, but what was killed a moment before gets its time. That is two minutes, where real blocks are ten apart: who has
 * not acted by then is late. Before its last height nothing has to be done about a hold, so that blocks may come while
 * everybody is dead.
 */
export function minerOf({ servers, having }: Network): Miner {
  const faults: string[] = []
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work, work)
    turn = mine
    return mine
  }
  const [market] = having('market')
  if (!market) throw new Error('the network has no market')

  /** @returns a sentence for each hold that should be gone; undefined while the node cannot be asked */
  async function overdue(): Promise<readonly string[] | undefined> {
    try {
      const height = await servers.chain.rpc<number>('getblockcount')
      return (await market?.lightning.holds.held())?.flatMap(({ paymentHash, htlcs }) => {
        const ends = Math.min(...htlcs.filter(({ state }) => state === 'held').map(({ expiryHeight }) => expiryHeight))
        return ends - GUARD_BLOCKS <= height ? [`${paymentHash} is held at height ${height}, and ends at ${ends}`] : []
      })
    } catch {
      return undefined
    }
  }
  async function guarded(): Promise<void> {
    for (const end = Date.now() + GUARDS_WITHIN_MS; ; await sleep(AGAIN_MS)) {
      const holds = await overdue()
      if (holds?.length === 0) return
      if (Date.now() < end) continue
      faults.push(...(holds ?? ["the market's node does not answer any more"]))
      return
    }
  }
  // btcd's own blocks would take up again at once what the old ones had confirmed.
  const byHand = handMiner({ chain: servers.chain, inStep: () => inStep(servers) })
  const hasty = handMiner({ chain: servers.chain, inStep: () => Promise.resolve() })
  const blocks: OwnBlocks = {
    guarded,
    extend: (count, transactions) => hasty.extend(count, transactions),
    replace: (depth, transactions, having) => hasty.replace(depth, transactions, having),
    async mine(count = 1): Promise<void> {
      await servers.chain.rpc('generate', count)
      await inStep(servers)
      await guarded()
    },
    async reorganise(depth: number): Promise<void> {
      await byHand.replace(depth)
      await guarded()
    },
  }
  return {
    faults,
    mine: (count) => inTurn(() => blocks.mine(count)),
    reorganise: (depth) => inTurn(() => blocks.reorganise(depth)),
    alone: (work) => inTurn(() => work(blocks)),
  }
}

/** Among blocks, re-organisations and deaths lnd may stop following the chain until it is started again. Once is enough. */
async function inStep(servers: Network['servers']): Promise<void> {
  try {
    await servers.inStep()
  } catch (error) {
    if (!(error instanceof OutOfStep)) throw error
    process.stderr.write(`lnd is killed and started again: ${inspect(error)}\n`)
    await error.node.kill()
    await servers.inStep()
  }
}
