import type { Clock } from '@penstock/ports/clock.ts'
import { within } from '@penstock/ports/within.ts'
import { type WaitingHtlc, waitingHtlcs } from '@penstock/servers/lightning-channels.ts'
import { oneAtATime } from '@penstock/servers/lightning-turn.ts'
import type { LightningServers } from '@penstock/servers/lightning.ts'
import type { Person } from './person.ts'

/** So many blocks before an HTLC ends, the guard has settled or cancelled. */
const GUARD_BLOCKS = 24
/** A kill of btcd loses at most these, and no node falls far behind. */
const STEP_BLOCKS = 100
/** For one payment in all: a market or a node that was just killed guards again by then. */
const GUARDED_WITHIN_MS = 20_000
/** For everything that is waited for between the blocks of one call: whoever asked gives up after 110 s. */
const PATIENCE_MS = 40_000
const ANSWER_MS = 5000
const LEAST_MS = 1000
const AGAIN_MS = 50
const THE_NODE = 'the node'

/** What blocks are made on, and who has to keep up with them. */
export type Ground = {
  height(): Promise<number>
  /** @throws Error where the chain does not answer */
  make(blocks: number): Promise<unknown>
  /** Every node is at the tip. */
  inStep(): Promise<void>
  /** What waits at the market's node. @throws Error where it does not answer */
  waiting(): Promise<readonly WaitingHtlc[]>
}

export const groundOf = ({ chain, inStep }: LightningServers, market: Person): Ground => ({
  height: () => chain.rpc<number>('getblockcount'),
  make: (blocks) => chain.rpc('generate', blocks),
  inStep,
  waiting: () => waitingHtlcs(market.node),
})

/** Makes so many blocks. @throws Error that says how many there are where the chain ends meanwhile */
export type Mine = (count: number) => Promise<void>

/**
 * On a real chain blocks are ten minutes apart. Here a thousand take seconds, and would pass the height at which a held
 * payment has to be decided, and the one at which its payer closes the channel, before anybody looks: at such a height the
 * next block waits until the payment is gone. It does not wait for ever, since the blocks were asked for.
 */
export function miningOn(ground: Ground, clock: Clock): Mine {
  /** How long what is overdue was waited for, by payment hash; and the node that does not tell, until it tells again. */
  const waited = new Map<string, number>()

  /** @returns by hash when the guard has to decide; undefined where the node does not tell */
  async function lastHeights(): Promise<ReadonlyMap<string, number> | undefined> {
    const htlcs = await within(clock, ANSWER_MS, ground.waiting()).catch(() => undefined)
    if (!htlcs) return undefined
    const heights = new Map<string, number>()
    for (const { paymentHash, expiryHeight } of htlcs)
      heights.set(paymentHash, Math.min(expiryHeight - GUARD_BLOCKS, heights.get(paymentHash) ?? Infinity))
    for (const hash of waited.keys()) if (!heights.has(hash)) waited.delete(hash)
    return heights
  }
  /** Waits for what is overdue. @returns how many blocks may be made before somebody has to look again */
  async function guarded(end: number): Promise<number> {
    for (;;) {
      const asked = clock.monotonicMs()
      const heights = await lastHeights()
      const height = await ground.height()
      const blocksLeft = [...(heights ?? [[THE_NODE, height] as const])].map(([hash, last]) => ({ hash, blocks: last - height }))
      const due = blocksLeft.filter(({ hash, blocks }) => blocks <= 0 && (waited.get(hash) ?? 0) < GUARDED_WITHIN_MS)
      if (due.length === 0 || asked >= end)
        return Math.min(...blocksLeft.map(({ blocks }) => blocks).filter((blocks) => blocks > 0))
      await clock.sleep(AGAIN_MS)
      for (const { hash } of due) waited.set(hash, (waited.get(hash) ?? 0) + clock.monotonicMs() - asked)
    }
  }
  async function mine(count: number): Promise<void> {
    const end = clock.monotonicMs() + PATIENCE_MS
    let left = count
    try {
      for (let free = await guarded(end); left > 0; free = await guarded(end)) {
        const step = Math.min(left, free, STEP_BLOCKS)
        await ground.make(step)
        left -= step
        // Who is too slow, or ends, sees them later.
        await within(clock, Math.max(LEAST_MS, end - clock.monotonicMs()), ground.inStep()).catch(() => undefined)
      }
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error)
      throw new Error(`${count - left} of ${count} blocks are made: ${said}. Ask for the rest in a moment.`, { cause: error })
    }
  }
  const inTurn = oneAtATime()
  return (count) => inTurn(() => mine(count))
}
