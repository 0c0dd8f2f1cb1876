import { Fault } from '@penstock/kernel/result.ts'
import { type Attempt, type AttemptOutcome, type DueEndpoint, SHARD_COUNT } from '@penstock/ports/deliveries.ts'
import { hitCrashPoint } from '@penstock/runtime/crash-points.ts'
import { retryFaults } from '@penstock/runtime/retry.ts'
import type { ServiceContext } from '@penstock/runtime/service.ts'
import { createCaller } from './call.ts'
import { createDueEndpoints } from './due-endpoints.ts'
import { endAttempt, INTERRUPTED, postponeAttempt } from './outcome.ts'
import { createPools } from './pools.ts'
import type { WebhookPorts } from './ports.ts'
import { createWaker } from './waker.ts'

/** The longest pause of an idle sender, and so the delay of an event that another replica has recorded. */
const IDLE_MS = 1000
/** The pause while calls are in progress, and after a search that began nothing. */
const BUSY_MS = 100
/** Outcomes wait so long for others, so that many share a commit. */
const GATHER_MS = 5
const GATHER_COUNT = 32
/** The pause between two searches for interrupted attempts in a shard that this process has. */
const SEARCH_EVERY_MS = 10_000
/** Begun attempts of this process are known to it long before this age. */
const INTERRUPTED_AFTER_MS = 60_000
/**
 * The time that calls in progress have when the service stops. The leases of their shards, of 3000 ms and renewed every second
 * until the stop, last at least as long. So no other process begins meanwhile.
 */
const DRAIN_MS = 2000

type SendContext = ServiceContext<WebhookPorts>
type Sending = ReturnType<typeof createSending>

/** The state of a process that sends. The queue has all that must survive. */
function createSending(context: SendContext) {
  const { ports } = context
  const pools = createPools()
  return {
    context,
    pools,
    due: createDueEndpoints(ports, pools),
    call: createCaller(context),
    /** The shards whose lease this process has. */
    heldShards: new Set<number>(),
    /** The ids of attempts whose end is not committed yet. */
    inProgress: new Set<string>(),
    ended: [] as AttemptOutcome[],
    /** Resolves when no more outcomes of this process will be recorded. */
    drained: Promise.withResolvers<void>(),
    waker: createWaker(ports.clock),
    waitsMs: ports.config.webhookWaitsSeconds.map((seconds) => seconds * 1000),
  }
}

/** Sends the deliveries that are due. An attempt is a committed row before its request, and each end is a committed row. */
export function createSender(context: SendContext) {
  const sending = createSending(context)
  return {
    wake: (): void => sending.waker.wake(),
    run: (signal: AbortSignal): Promise<void> => sendUntil(sending, signal),
    /** Holds each shard whose lease this process gets, until the signal and then until the end of `run`. */
    holdShards: (signal: AbortSignal): Promise<unknown> =>
      Promise.all(
        Array.from({ length: SHARD_COUNT }, (_, shard) =>
          context.withLease(`webhooks-${shard}`, (held) => holdShard(sending, shard, { held, stop: signal }), signal),
        ),
      ),
  }
}

async function sendUntil(sending: Sending, signal: AbortSignal): Promise<void> {
  const { context, drained, waker } = sending
  const { clock } = context.ports
  let stoppedAt = Infinity
  signal.addEventListener('abort', () => (stoppedAt = clock.monotonicMs()), { once: true })
  try {
    while (!signal.aborted) {
      const idleMs = await findIdleMs(sending)
      if (idleMs > 0) {
        await waker.sleep(idleMs, signal)
        continue
      }
      await endAndBegin(sending, signal)
      await waitForOutcomes(sending, signal)
    }
  } finally {
    // An outcome that is lost here would be repeated as an interrupted attempt.
    await drain(sending, Math.min(stoppedAt, clock.monotonicMs()) + DRAIN_MS).finally(drained.resolve)
  }
}

/** Records the outcomes of calls in progress until a time of the monotonic clock. */
async function drain(sending: Sending, until: number): Promise<void> {
  const { inProgress, context } = sending
  const { clock } = context.ports
  await recordEnded(sending)
  while (inProgress.size > 0 && clock.monotonicMs() < until) {
    await clock.sleep(GATHER_MS)
    await recordEnded(sending)
  }
}

type ShardSignals = {
  /** Fires at the end of the lease. */
  readonly held: AbortSignal
  /** Fires when the process stops to send. */
  readonly stop: AbortSignal
}

/** Takes a shard over, and holds it until its lease ends. */
async function holdShard(sending: Sending, shard: number, { held, stop }: ShardSignals): Promise<void> {
  const { context, heldShards, due, waker, drained } = sending
  if (!held.aborted) await endInterrupted(sending, shard, Number.MAX_SAFE_INTEGER)
  if (!held.aborted) {
    heldShards.add(shard)
    waker.wake()
  }
  while (!held.aborted) {
    await context.ports.clock.sleep(SEARCH_EVERY_MS, held)
    if (!held.aborted) await endLateInterrupted(sending, shard)
  }
  heldShards.delete(shard)
  due.forgetAll()
  // Another process with the lease would repeat the calls that have not ended yet. A lost lease has another holder already.
  if (stop.aborted) await drained.promise
}

/** Ends attempts in progress of a shard that are not of this process. They belong to a process that is gone. */
async function endInterrupted({ context, inProgress, waitsMs }: Sending, shard: number, begunBefore: number): Promise<void> {
  const { deliveries, clock, ids } = context.ports
  const interrupted = await deliveries.findInProgress({ shard, begunBefore, except: [...inProgress] })
  if (interrupted.length === 0) return
  const now = clock.now()
  const schedule = { now, waitsMs, createId: () => ids.uuid() }
  await deliveries.end(
    interrupted.map((attempt) => endAttempt(attempt, INTERRUPTED, schedule)),
    now,
  )
}

/** Ends attempts that their process began after this one had taken the shard over, and before it was gone. */
async function endLateInterrupted(sending: Sending, shard: number): Promise<void> {
  const { clock, log } = sending.context.ports
  try {
    await endInterrupted(sending, shard, clock.now() - INTERRUPTED_AFTER_MS)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    log.warn({ shard, reason: String(error) }, 'a search for interrupted webhooks failed; the next one follows')
  }
}

async function recordEnded({ context, inProgress, ended }: Sending): Promise<void> {
  const { ports } = context
  const outcomes = ended.splice(0)
  if (outcomes.length === 0) return
  await retryFaults(ports, new AbortController().signal, () => ports.deliveries.end(outcomes, ports.clock.now()))
  for (const { attemptId } of outcomes) inProgress.delete(attemptId)
}

/** Records the calls that have ended, and begins those that are due, in one commit. */
async function endAndBegin(sending: Sending, signal: AbortSignal): Promise<void> {
  const { context, pools, heldShards, inProgress, due, ended } = sending
  const { deliveries, clock } = context.ports
  const free = heldShards.size === 0 ? 0 : pools.countFree(clock.monotonicMs())
  const requests = free === 0 ? [] : await due.choose([...heldShards], free)
  if (requests.length === 0 || signal.aborted) return recordEnded(sending)
  const outcomes = ended.splice(0)
  const attempts = await deliveries.begin(requests, clock.now(), outcomes).catch((error: unknown) => {
    ended.push(...outcomes)
    throw error
  })
  for (const { attemptId } of outcomes) inProgress.delete(attemptId)
  hitCrashPoint('payments.webhook.after-begin')
  const endpoints = new Map(requests.map(({ endpointId, endpoint }) => [endpointId, endpoint]))
  for (const attempt of attempts) {
    const endpoint = endpoints.get(attempt.endpointId)
    if (endpoint) call(sending, attempt, endpoint)
  }
  due.forgetIdle(requests, attempts)
}

function call(sending: Sending, attempt: Attempt, endpoint: DueEndpoint): void {
  const { pools, inProgress, ended, waker, waitsMs, context } = sending
  const { clock, ids } = context.ports
  inProgress.add(attempt.id)
  const place = pools.begin(endpoint.id, clock.monotonicMs())
  void sending.call(attempt, endpoint).then((verdict) => {
    const isPostponed = verdict === 'POSTPONED'
    pools.end(place, !isPostponed && verdict.status === 'SUCCESS', clock.monotonicMs())
    const now = clock.now()
    ended.push(
      isPostponed ? postponeAttempt(attempt, now) : endAttempt(attempt, verdict, { now, waitsMs, createId: () => ids.uuid() }),
    )
    if (ended.length === 1 || isBatch(sending)) waker.wake()
  })
}

/** Outcomes are recorded together with others. A process with few calls does not wait for many. */
const isBatch = ({ ended, inProgress }: Sending): boolean => ended.length >= Math.min(GATHER_COUNT, inProgress.size / 2)

/** @returns the time without work, as known now */
async function findIdleMs({ context, ended, inProgress, heldShards }: Sending): Promise<number> {
  const { deliveries, clock } = context.ports
  if (ended.length > 0 || inProgress.size > 0) return 0
  const next = heldShards.size === 0 ? null : await deliveries.findNextDueAt([...heldShards], [])
  return next === null ? IDLE_MS : Math.min(IDLE_MS, next - clock.now())
}

async function waitForOutcomes(sending: Sending, signal: AbortSignal): Promise<void> {
  const { ended, waker } = sending
  // A sleep of 0 ms uses up a wake-up from the last commit, which would otherwise end the next sleep.
  await waker.sleep(ended.length === 0 ? BUSY_MS : 0, signal)
  if (ended.length > 0 && !isBatch(sending)) await waker.sleep(GATHER_MS, signal)
}
