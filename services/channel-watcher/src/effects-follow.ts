import { channel } from '@penstock/contracts/channel.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { ChainTip } from '@penstock/ports/chain.ts'
import { within } from '@penstock/ports/within.ts'
import { canonical } from '@penstock/runtime/canonical.ts'
import { derivedId } from '@penstock/runtime/derived-ids.ts'
import { ask, type Job, type ServiceContext } from '@penstock/runtime/service.ts'
import { type Channel, type Watch, watchOf } from './channel.ts'
import { evidenceOf, LOOK_TIMEOUT_MS, type WatcherPorts } from './effects.ts'
import { idleWithin, lanes } from './lanes.ts'
import { isAtRest, nextFact } from './look.ts'
import { type Resting, restingLeases } from './resting.ts'

const LOOKS_SIDE_BY_SIDE = 32
/** After a start their blocks are read anew where the chain's source has no index, which takes hours: no sale waits for that. */
const LEASES_SIDE_BY_SIDE = 4
/**
 * A lease that is due gives way until all sales were looked at and probed, since both take the same nodes; no longer than
 * this, since whoever keeps our probe keeps no lease from being looked at.
 */
const LEASES_WAIT_MS = 5000
/** A probe that its last node keeps takes its whole limit: probes have lanes of their own. */
const PROBES_SIDE_BY_SIDE = 32
const AGAIN_AFTER_MS = 1000
const MOST_TRIES = 3

type Context = ServiceContext<WatcherPorts>

/** One replica at a time: each channel is looked at and probed once on each tip, however many there are. */
export const followChain: Job<WatcherPorts> = {
  name: 'follow-chain',
  run: (context, signal) => context.alone('follow-chain', (held) => follow(context, held), signal),
}

/**
 * Looks at every watched outpoint on every new tip, and again where a look failed. No look waits for another, nor a new
 * tip for any: whoever keeps our probe keeps it from nobody else, and leases have lanes of their own.
 */
async function follow(context: Context, signal: AbortSignal): Promise<void> {
  const { chain, clock, log } = context.ports
  // Of leases that wait for their look, however many blocks come meanwhile.
  const dueSince = new Map<string, number>()
  let newest: ChainTip | undefined
  // What failed is tried again after a moment.
  const attempt = async (id: string, act: (tip: ChainTip) => Promise<void>): Promise<void> => {
    if (!newest || signal.aborted) return
    try {
      await act(newest)
    } catch (error) {
      if (signal.aborted) return
      log.warn({ order: id, reason: String(error) }, 'a channel could not be looked at; it is tried again')
      void clock.sleep(AGAIN_AFTER_MS, signal).then(() => (signal.aborted ? undefined : looks.add([id])))
    }
  }
  const lookNow = async (tip: ChainTip, id: string): Promise<void> => {
    resting.wake(id)
    const after = await look(context, tip, id, false, signal)
    if (isAtRest(after)) resting.keep(id, after.endsAtHeight)
    // A channel that this look found deep enough is probed at once, not a block later.
    if (isToBeProbed(after)) probes.add([id])
  }
  const later = (ids: readonly string[]): void => {
    const come = ids.filter((id) => !dueSince.has(id))
    for (const id of come) dueSince.set(id, clock.monotonicMs())
    leases.add(come)
  }
  const resting = restingLeases(clock, signal, later)
  const looks = lanes(LOOKS_SIDE_BY_SIDE, (id) =>
    attempt(id, async (tip) => {
      if (isAtRest((await present(context, id)).state)) later([id])
      else await lookNow(tip, id)
    }),
  )
  const leases = lanes(LEASES_SIDE_BY_SIDE, async (id) => {
    await idleWithin(
      (ms, over) => clock.sleep(ms, over),
      (dueSince.get(id) ?? 0) + LEASES_WAIT_MS - clock.monotonicMs(),
      [looks, probes],
      signal,
    )
    dueSince.delete(id)
    await attempt(id, (tip) => lookNow(tip, id))
  })
  const probes = lanes(PROBES_SIDE_BY_SIDE, (id) => attempt(id, async (tip) => void (await look(context, tip, id, true, signal))))
  try {
    for await (const tip of chain.tips(signal)) {
      newest = tip
      looks.add(await sales(context, resting))
      resting.see(tip.height)
    }
  } finally {
    await Promise.all([looks, leases, probes].map((one) => one.stop()))
  }
}

/** Everything unfinished that is not at rest. */
async function sales(context: Context, resting: Resting): Promise<readonly string[]> {
  try {
    const ids = await within(context.ports.clock, LOOK_TIMEOUT_MS, context.unfinished(channel.category))
    resting.retain(new Set(ids))
    return ids.filter((id) => !resting.has(id))
  } catch (error) {
    context.ports.log.error({ reason: String(error) }, 'the watched channels could not be listed; the next block tries again')
    return []
  }
}

/**
 * What was seen before somebody else spoke, of a later block perhaps, would take that back: it is looked at anew. So it is
 * with whoever stood still in between.
 * @returns the state afterwards. The revision in the command's id lets the same evidence speak to a newer state.
 */
async function look(
  context: Context,
  tip: ChainTip,
  id: string,
  probe: boolean,
  signal: AbortSignal,
  tries = 0,
): Promise<Channel> {
  const { ports, decide } = context
  const { state, revision } = await present(context, id)
  const watch = watchOf(state)
  if (!watch || (probe && !isToBeProbed(state))) return state
  const evidence = await seenOf(ports, watch, probe, signal)
  // By blocks that are older than those we know of, what stands in the newer ones would be lost.
  if (evidence.tipHeight < tip.height) throw new Fault(`the chain is shown as of ${evidence.tipHeight}, and is at ${tip.height}`)
  const now = await present(context, id)
  if (now.revision !== revision && tries < MOST_TRIES) return look(context, tip, id, probe, signal, tries + 1)
  const data = { outpoint: watch.outpoint, evidence, seesMempool: ports.chain.sees.mempool }
  // Most looks at a lease show what is known already: a command would say so once more.
  if (nextFact(now.state, data) === null) return now.state
  await decide(ask(channel, id, 'Observe', data), derivedId(channel.category, id, revision, tip.hash, canonical(data)))
  return (await present(context, id)).state
}

const seenOf = (ports: Context['ports'], watch: Watch, probe: boolean, signal: AbortSignal): Promise<EvidenceData> =>
  within(ports.clock, LOOK_TIMEOUT_MS, evidenceOf(ports, watch, probe), signal)

const isToBeProbed = (state: Channel): boolean => state.status === 'REACHED' && !state.isProven

async function present({ load }: Context, id: string): Promise<{ readonly state: Channel; readonly revision: number | 'none' }> {
  const { state, revision } = await load(channel.category, id)
  return { state: state as Channel, revision } // this service's own category: see service.ts
}
