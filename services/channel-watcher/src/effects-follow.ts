import { channel } from '@penstock/contracts/channel.ts'
import type { ChainTip } from '@penstock/ports/chain.ts'
import { canonical } from '@penstock/runtime/canonical.ts'
import { derivedId } from '@penstock/runtime/derived-ids.ts'
import { ask, type Job, type ServiceContext } from '@penstock/runtime/service.ts'
import { type Channel, watchOf } from './channel.ts'
import { evidenceOf, type WatcherPorts } from './effects.ts'
import { isAtRest } from './look.ts'

const SIDE_BY_SIDE = 8
const AGAIN_AFTER_MS = 1000
/** Leases at rest take turns, so that a block costs the same however many channels were ever sold. */
const LEASES_PER_TIP = 500

type Context = ServiceContext<WatcherPorts>

/** Looks at every watched outpoint on every new tip. A look that failed is tried again until the next tip comes. */
export const followChain: Job<WatcherPorts> = {
  name: 'follow-chain',
  async run(context, signal) {
    const resting = new Set<string>()
    let newer = new AbortController()
    let looking = Promise.resolve()
    try {
      for await (const tip of context.ports.chain.tips(signal)) {
        newer.abort()
        await looking
        newer = new AbortController()
        looking = lookAtAll(context, tip, resting, AbortSignal.any([signal, newer.signal]))
      }
    } finally {
      newer.abort()
      await looking
    }
  },
}

/** One look at each, also when a newer tip has come meanwhile: nobody waits for ever behind fast blocks. It never rejects. */
async function lookAtAll(context: Context, tip: ChainTip, resting: Set<string>, until: AbortSignal): Promise<void> {
  const { clock, log } = context.ports
  let waiting = await due(context, resting).catch((error: unknown) => {
    log.error({ reason: String(error) }, 'the watched channels could not be listed; the next block tries again')
    return [] as readonly string[]
  })
  for (;;) {
    waiting = await lookSideBySide(context, tip, resting, waiting)
    if (waiting.length === 0 || until.aborted) return
    await clock.sleep(AGAIN_AFTER_MS, until)
    if (until.aborted) return
  }
}

/** Everything unfinished, and of the leases at rest those that were looked at longest ago. */
async function due(context: Context, resting: Set<string>): Promise<readonly string[]> {
  const ids = await context.unfinished(channel.category)
  const open = new Set(ids)
  for (const id of resting) if (!open.has(id)) resting.delete(id)
  const turn = new Set([...resting].slice(0, LEASES_PER_TIP))
  return ids.filter((id) => !resting.has(id) || turn.has(id))
}

/** @returns those that failed */
async function lookSideBySide(
  context: Context,
  tip: ChainTip,
  resting: Set<string>,
  ids: readonly string[],
): Promise<readonly string[]> {
  const queue = [...ids]
  const failed: string[] = []
  const worker = async (): Promise<void> => {
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
      try {
        resting.delete(id)
        if (await look(context, tip, id)) resting.add(id)
      } catch (error) {
        failed.push(id)
        context.ports.log.warn({ order: id, reason: String(error) }, 'a channel could not be looked at; it is tried again')
      }
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker))
  return failed
}

/** @returns whether the channel is at rest. The revision in the command's id lets the same evidence speak to a newer state. */
async function look(context: Context, tip: ChainTip, id: string): Promise<boolean> {
  const { ports, decide } = context
  const { state, revision } = await present(context, id)
  const watch = watchOf(state)
  if (!watch) return false
  const evidence = await evidenceOf(ports, watch, isToBeProbed(state))
  const data = { outpoint: watch.outpoint, evidence, seesMempool: ports.chain.sees.mempool }
  await decide(ask(channel, id, 'Observe', data), derivedId(channel.category, id, revision, tip.hash, canonical(data)))
  const after = (await present(context, id)).state
  // A channel that this look found deep enough is probed at once, not a block later.
  if (isToBeProbed(after) && !isToBeProbed(state)) return look(context, tip, id)
  return isAtRest(after)
}

const isToBeProbed = (state: Channel): boolean => state.status === 'REACHED' && !state.isProven

async function present({ load }: Context, id: string): Promise<{ readonly state: Channel; readonly revision: number | 'none' }> {
  const { state, revision } = await load(channel.category, id)
  return { state: state as Channel, revision } // this service's own category: see service.ts
}
