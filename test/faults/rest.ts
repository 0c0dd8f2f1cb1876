import { setTimeout as sleep } from 'node:timers/promises'
import { booksOf } from './books.ts'
import type { Fold } from './fold.ts'
import { orderFaults } from './orders.ts'
import { heldAtMarket, type Truth } from './truth.ts'
import { FOR_THE_SELLER, undecidedOrders } from './undecided.ts'
import { unnamed, type Wait, waitsOf } from './waiting.ts'

export type Resting = {
  readonly fold: Fold
  readonly truthNow: () => Promise<Pick<Truth, 'height' | 'held' | 'market'>>
  /**
   * A hold that nothing proves ends at its last height, a hundred blocks on: after a while they come faster.
   * @param most so many blocks, or none, before its guard has to see them one by one
   */
  readonly mine: (most: number) => Promise<unknown>
  /** An operator's decision between seller and buyer: nobody else ends the wait of such a payout. */
  readonly decide: (orderId: string, decision: typeof FOR_THE_SELLER) => Promise<unknown>
  readonly mineAfterMs: number
  readonly withinMs: number
}

const LOOK_EVERY_MS = 250

/** Waits until whatever is still asked for waits for somebody who can be named; what is left then is the answer. */
export async function atRest(resting: Resting): Promise<readonly Wait[]> {
  const begun = performance.now()
  for (;;) {
    const waited = performance.now() - begun
    const isLate = waited > resting.withinMs
    const look = restOf(resting)
    // What was killed may not be back yet.
    const rest = isLate ? await look : await look.catch(() => undefined)
    if (rest && (isLate || rest.isRest)) return rest.waits
    // One that is decided meanwhile is refused.
    for (const order of rest?.undecided ?? []) await resting.decide(order, FOR_THE_SELLER).catch(() => undefined)
    if (waited > resting.mineAfterMs) await hurry(resting).catch(() => undefined)
    await sleep(LOOK_EVERY_MS)
  }
}

/** A little more than the guard's own. */
const UNHURRIED_BLOCKS = 26

async function hurry({ truthNow, mine }: Resting): Promise<unknown> {
  const truth = await truthNow()
  const left = heldAtMarket(truth).map(({ expiry_height }) => Number(expiry_height) - UNHURRIED_BLOCKS - truth.height)
  return mine(Math.max(0, Math.min(...left)))
}

type Rest = { readonly waits: readonly Wait[]; readonly undecided: readonly string[]; readonly isRest: boolean }

/**
 * Whether whatever is still to come waits for somebody who can be named, no order is lost on its way between two services,
 * and the market's node holds nothing. The network is asked first: the facts that follow from its height come after it.
 */
async function restOf({ fold, truthNow }: Resting): Promise<Rest> {
  const truth = await truthNow()
  await fold.catchUp()
  const waits = waitsOf(fold.asking(), { at: Date.now(), height: truth.height })
  const isRest =
    unnamed(waits).length === 0 && orderFaults(booksOf(fold.events), waits).length === 0 && heldAtMarket(truth).length === 0
  return { waits, isRest, undecided: undecidedOrders(fold.asking(), truth.height) }
}
