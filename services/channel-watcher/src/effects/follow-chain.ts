import { command } from '@penstock/kernel/process.ts'
import { withJitter } from '@penstock/kernel/backoff.ts'
import { channelContract, type ChannelTarget } from '@penstock/contracts/channel.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { ChainTip } from '@penstock/ports/chain.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { toCanonicalJson } from '@penstock/runtime/commands/canonical-json.ts'
import { deriveId } from '@penstock/runtime/commands/derived-ids.ts'
import type { ServiceJob, ServiceContext } from '@penstock/runtime/service.ts'
import { type WatchedChannel, type ChannelWatch, watchOf } from '../channel.ts'
import { gatherWatchEvidence, OBSERVATION_TIMEOUT_MS, type WatcherPorts } from '../effects.ts'
import { waitUntilIdle, createWorkerPool } from '../worker-pool.ts'
import { isIdleLease, classifyObservation } from '../classify-observation.ts'
import { type IdleLeases, trackIdleLeases } from '../idle-leases.ts'

const MAX_CONCURRENT_OBSERVATIONS = 32
/** A chain source without an index needs hours after a start to read the leases' blocks. Other channels do not wait for it. */
const MAX_CONCURRENT_LEASES = 4
/**
 * A due lease waits until all other channels are observed and probed, because both use the same nodes. The wait is limited,
 * so that a node that holds our probe does not block the leases.
 */
const MAX_LEASE_DELAY_MS = 5000
/** A node can hold a probe until the timeout of the probe, so probes have a worker pool of their own. */
const MAX_CONCURRENT_PROBES = 32
const RETRY_AFTER_MS = 1000
const MAX_TRIES = 3

type FollowContext = ServiceContext<WatcherPorts>

/** One replica at a time runs this job, so that each channel is observed and probed once per tip. */
export const followChain: ServiceJob<WatcherPorts> = {
  name: 'follow-chain',
  sends: ['channel.Observe'],
  run: (context, signal) => context.withLease('follow-chain', (leaseSignal) => followTips(context, leaseSignal), signal),
}

/**
 * Observes every watched outpoint at every new tip, and retries a failed observation. A new tip does not wait for running
 * observations. Probes and leases have worker pools of their own, so that a held probe delays no other channel.
 */
async function followTips(context: FollowContext, signal: AbortSignal): Promise<void> {
  const { chain, clock, ids, log } = context.ports
  // The time at which each waiting lease became due; later blocks do not change it.
  const dueSince = new Map<string, number>()
  let newestTip: ChainTip | undefined
  // Retries a failed task after a short pause.
  const runWithRetry = async (id: string, task: (tip: ChainTip) => Promise<void>): Promise<void> => {
    if (!newestTip || signal.aborted) return
    try {
      await task(newestTip)
    } catch (error) {
      if (signal.aborted) return
      log.warn({ order: id, reason: String(error) }, 'observing a channel failed; retrying')
      void clock
        .sleep(withJitter(RETRY_AFTER_MS, ids), signal)
        .then(() => (signal.aborted ? undefined : observationPool.add([id])))
    }
  }
  const observeNow = async (tip: ChainTip, id: string, loaded?: LoadedChannel): Promise<void> => {
    idleLeases.remove(id)
    const observed = await observeChannel(context, { tip, id, probe: false }, signal, loaded)
    if (isIdleLease(observed)) idleLeases.add(id, observed.endsAtHeight)
    // A channel that has reached its confirmations is probed at once, not at the next block.
    if (needsProbe(observed)) probePool.add([id])
  }
  const queueLeases = (ids: readonly string[]): void => {
    const newIds = ids.filter((id) => !dueSince.has(id))
    for (const id of newIds) dueSince.set(id, clock.monotonicMs())
    leasePool.add(newIds)
  }
  const idleLeases = trackIdleLeases(clock, signal, queueLeases)
  const observationPool = createWorkerPool(MAX_CONCURRENT_OBSERVATIONS, (id) =>
    runWithRetry(id, async (tip) => {
      const loaded = await loadChannel(context, id)
      if (isIdleLease(loaded.state)) queueLeases([id])
      else await observeNow(tip, id, loaded)
    }),
  )
  const leasePool = createWorkerPool(MAX_CONCURRENT_LEASES, async (id) => {
    await waitUntilIdle(
      (ms, over) => clock.sleep(ms, over),
      (dueSince.get(id) ?? 0) + MAX_LEASE_DELAY_MS - clock.monotonicMs(),
      [observationPool, probePool],
      signal,
    )
    dueSince.delete(id)
    await runWithRetry(id, (tip) => observeNow(tip, id))
  })
  const probePool = createWorkerPool(MAX_CONCURRENT_PROBES, (id) =>
    runWithRetry(id, async (tip) => void (await observeChannel(context, { tip, id, probe: true }, signal))),
  )
  try {
    for await (const tip of chain.tips(signal)) {
      newestTip = tip
      observationPool.add(await listActiveWatches(context, idleLeases))
      idleLeases.onBlock(tip.height)
    }
  } finally {
    await Promise.all([observationPool, leasePool, probePool].map((one) => one.stop()))
  }
}

/** All open watches, except idle leases. */
async function listActiveWatches(context: FollowContext, idleLeases: IdleLeases): Promise<readonly string[]> {
  try {
    const ids = await withTimeout(context.ports.clock, OBSERVATION_TIMEOUT_MS, context.listOpenStreams(channelContract.category))
    idleLeases.retain(new Set(ids))
    return ids.filter((id) => !idleLeases.has(id))
  } catch (error) {
    context.ports.log.error({ reason: String(error) }, 'listing the watched channels failed; retrying on the next block')
    return []
  }
}

type ObservationRequest = { readonly tip: ChainTip; readonly id: string; readonly probe: boolean }
type LoadedChannel = { readonly state: WatchedChannel; readonly revision: number | 'none' }

/**
 * Observes one channel and records a change. If the stream's revision changes meanwhile, another replica may have recorded a
 * later block, and this observation would revert its fact. The observation is then repeated, up to MAX_TRIES times.
 * The command's id contains the revision, so that the same evidence can count again for a newer state.
 * @returns the state afterwards
 */
async function observeChannel(
  context: FollowContext,
  request: ObservationRequest,
  signal: AbortSignal,
  loaded?: LoadedChannel,
  tries = 0,
): Promise<WatchedChannel> {
  const { ports, decide } = context
  const { tip, id, probe } = request
  const { state, revision } = loaded ?? (await loadChannel(context, id))
  const watch = watchOf(state)
  if (!watch || (probe && !needsProbe(state))) return state
  const evidence = await gatherWithTimeout(ports, watch, probe, signal)
  // Evidence of an older tip would miss what the newer blocks contain.
  if (evidence.tipHeight < tip.height) throw new Fault(`the chain is shown as of ${evidence.tipHeight}, and is at ${tip.height}`)
  const data = { outpoint: watch.outpoint, evidence, seesMempool: ports.chain.sees.mempool }
  // The outpoint of a lease stays the same, so an observation without a change needs no newer state.
  if (isIdleLease(state) && classifyObservation(state, data) === null) return state
  const current = await loadChannel(context, id)
  if (current.revision !== revision && tries < MAX_TRIES) return observeChannel(context, request, signal, current, tries + 1)
  if (classifyObservation(current.state, data) === null) return current.state
  await decide(
    command<ChannelTarget>('channel', id, { type: 'Observe', data }),
    deriveId(channelContract.category, id, revision, tip.hash, toCanonicalJson(data)),
  )
  return (await loadChannel(context, id)).state
}

const gatherWithTimeout = (
  ports: FollowContext['ports'],
  watch: ChannelWatch,
  probe: boolean,
  signal: AbortSignal,
): Promise<EvidenceData> => withTimeout(ports.clock, OBSERVATION_TIMEOUT_MS, gatherWatchEvidence(ports, watch, probe), signal)

const needsProbe = (state: WatchedChannel): boolean => state.status === 'REACHED' && !state.isProven

async function loadChannel({ load }: FollowContext, id: string): Promise<LoadedChannel> {
  const { state, revision } = await load(channelContract.category, id)
  return { state: state as WatchedChannel, revision } // this service's own category: see service.ts
}
