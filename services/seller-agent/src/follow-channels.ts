import type { ChannelChange } from '@penstock/ports/lightning.ts'
import { computeBackoffMs } from '@penstock/kernel/backoff.ts'
import { closeUnpaidChannels } from './close-unpaid-channels.ts'
import { recordChannelEnd } from './channel-end.ts'
import type { AgentContext } from './context.ts'
import type { AgentTimings } from './terms.ts'

const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 10_000

/**
 * Follows the node's channels until the signal aborts. A change wakes the jobs for funds and sales, and the end of a sold
 * channel is recorded in the journal. Polling finds a close that the stream missed.
 */
export async function followChannels(
  context: AgentContext,
  { closedMs }: Pick<AgentTimings, 'closedMs'>,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all([followChannelStream(context, signal), pollClosedChannels(context, closedMs, signal)])
}

/** Restarts a stream that ended. A new stream begins with the current state of every channel. */
async function followChannelStream(context: AgentContext, signal: AbortSignal): Promise<void> {
  const { clock, ids, lightning, log } = context
  let faults = 0
  while (!signal.aborted) {
    const startedAt = clock.monotonicMs()
    try {
      for await (const change of lightning.channels.changes(signal)) await handleChange(context, change)
    } catch (error) {
      if (faults === 0 && !signal.aborted) log.warn({ reason: String(error) }, 'channel subscription lost; resubscribing')
    }
    await clock.sleep(computeBackoffMs(faults, ids, FIRST_RETRY_MS, LONGEST_RETRY_MS), signal)
    faults = clock.monotonicMs() - startedAt > 2 * LONGEST_RETRY_MS ? 0 : faults + 1
  }
}

async function handleChange(context: AgentContext, change: ChannelChange): Promise<void> {
  const { journal, wakeUps } = context
  if (change.state === 'closed' && !(await recordChannelEnd(context, change))) return
  // The wallet's coins may have changed: the channel took them, returned them, or confirmed them.
  wakeUps.funds.wake()
  if (change.state === 'pending') return
  if (journal.listChannelsToClose().includes(change.outpoint)) await closeUnpaidChannels(context)
  const orderId = journal.findFunding(change.outpoint)?.orderId
  if (orderId !== undefined && journal.sales.has(orderId)) wakeUps.wakeForOrder(orderId)
}

async function pollClosedChannels(context: AgentContext, closedMs: number, signal: AbortSignal): Promise<void> {
  const { clock, lightning, log } = context
  let isSilent = false
  while (!signal.aborted) {
    try {
      for (const closed of await lightning.channels.closed()) await handleChange(context, { ...closed, state: 'closed' })
      await closeUnpaidChannels(context)
      isSilent = false
    } catch (error) {
      if (!isSilent && !signal.aborted) log.warn({ reason: String(error) }, 'listing the closed channels failed; retrying')
      isSilent = true
    }
    await clock.sleep(closedMs, signal)
  }
}
