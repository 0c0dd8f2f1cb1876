import type { ChannelChange } from '@penstock/ports/lightning.ts'
import { backoff } from '@penstock/runtime/backoff.ts'
import { closeUnpaid } from './close-unpaid.ts'
import { noteClose } from './closing.ts'
import type { Desk } from './desk.ts'
import type { Pace } from './terms.ts'

const FIRST_FAULT_MS = 250
const LONGEST_FAULT_MS = 10_000

/**
 * Hears from the node how its channels stand, until the signal: whoever waits for one looks at once, and the end of one that
 * was sold goes into the journal. What a stream did not tell is found by looking, beside it.
 */
export async function followChannels(desk: Desk, { closedMs }: Pick<Pace, 'closedMs'>, signal: AbortSignal): Promise<void> {
  await Promise.all([listen(desk, signal), look(desk, closedMs, signal)])
}

/** A stream that ended is begun again: the node then tells first how everything stands. */
async function listen(desk: Desk, signal: AbortSignal): Promise<void> {
  const { clock, lightning, log } = desk
  let faults = 0
  while (!signal.aborted) {
    const begunAt = clock.monotonicMs()
    try {
      for await (const change of lightning.channels.changes(signal)) await heard(desk, change)
    } catch (error) {
      if (faults === 0 && !signal.aborted) log.warn({ reason: String(error) }, 'the node tells nothing of its channels now')
    }
    await clock.sleep(backoff(faults, FIRST_FAULT_MS, LONGEST_FAULT_MS), signal)
    faults = clock.monotonicMs() - begunAt > 2 * LONGEST_FAULT_MS ? 0 : faults + 1
  }
}

async function heard(desk: Desk, change: ChannelChange): Promise<void> {
  const { journal, news } = desk
  if (change.state === 'closed' && !(await noteClose(desk, change))) return
  // Coins have gone into it, have come back, or have the confirmation that they lacked.
  news.funds.ring()
  if (change.state === 'pending') return
  if (journal.toClose().includes(change.outpoint)) await closeUnpaid(desk)
  const orderId = journal.fundingOf(change.outpoint)?.orderId
  if (orderId !== undefined && journal.sales.has(orderId)) news.order(orderId)
}

async function look(desk: Desk, closedMs: number, signal: AbortSignal): Promise<void> {
  const { clock, lightning, log } = desk
  let isSilent = false
  while (!signal.aborted) {
    try {
      for (const closed of await lightning.channels.closed()) await heard(desk, { ...closed, state: 'closed' })
      await closeUnpaid(desk)
      isSilent = false
    } catch (error) {
      if (!isSilent && !signal.aborted) log.warn({ reason: String(error) }, 'the closed channels cannot be read')
      isSilent = true
    }
    await clock.sleep(closedMs, signal)
  }
}
