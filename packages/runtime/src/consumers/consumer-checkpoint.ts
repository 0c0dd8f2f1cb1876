import { aggregateIdOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { ConsumerProgress } from '@penstock/ports/progress.ts'
import type { BasePorts } from '../base-ports.ts'
import { republishFacts } from './republish.ts'
import { createSaver, type SaverOptions } from './save-after-changes.ts'
import { createWatermark } from './watermark.ts'

export type CheckpointContext = {
  readonly store: EventStore
  readonly bus: Bus
  readonly progress: ConsumerProgress
  readonly basePorts: Pick<BasePorts, 'clock' | 'log'>
}

/** The owner of the followed facts, and the key under which the position is stored. */
export type FollowedFacts = { readonly key: string; readonly owner: string; readonly categories: readonly string[] }

/** Moves the position up to which a consumer has handled every fact, and from which a start continues. */
export type ConsumerCheckpoint = {
  begin(position: bigint): void
  /** Marks a fact as handled, or as stored with a parked key. */
  end(position: bigint): void
  /** Runs until the signal. */
  run(signal: AbortSignal): Promise<void>
  /** Saves the present progress. */
  save(): Promise<void>
}

export type CheckpointTiming = {
  /** Milliseconds between two saves of handled positions. */
  readonly saveEveryMs: number
  /** Milliseconds between two moves of the position while handled facts are after it; otherwise `checkEveryMs` applies. */
  readonly moveEveryMs: number
  readonly checkEveryMs: number
  /** Milliseconds after which an unhandled fact counts as lost, and is requested from its owner. */
  readonly lostAfterMs: number
}

const DEFAULT_TIMING: CheckpointTiming = { saveEveryMs: 1000, moveEveryMs: 5000, checkEveryMs: 60_000, lostAfterMs: 300_000 }
const PAGE = 500

export const createConsumerCheckpoint = (
  context: CheckpointContext,
  followed: FollowedFacts,
  timing: CheckpointTiming = DEFAULT_TIMING,
): ConsumerCheckpoint =>
  context.bus.mayLose === true
    ? createPositionCheckpoint(context, followed, timing)
    : createWatermarkCheckpoint(context, followed, timing)

/** The checkpoint on a bus that loses no messages: the facts in flight in this process determine the position. */
function createWatermarkCheckpoint(
  { progress, basePorts }: CheckpointContext,
  { key }: FollowedFacts,
  timing: CheckpointTiming,
): ConsumerCheckpoint {
  const mark = createWatermark()
  let saved: bigint | undefined
  const save = async (): Promise<void> => {
    const position = mark.value()
    if (position === undefined || position === saved) return
    await progress.saveCheckpoint(key, position)
    saved = position
  }
  const saver = createCheckpointSaver({ key, basePorts, isIdle: () => mark.value() === saved, save }, timing)
  return {
    begin: (position) => mark.begin(position),
    end(position) {
      mark.end(position)
      saver.noteChange()
    },
    save,
    run: saver.run,
  }
}

/**
 * The checkpoint on a bus that may lose messages or deliver them to other replicas: only the store shows unhandled facts.
 * The position of each handled fact is recorded, and the saved position moves up to the first unrecorded fact. Facts that
 * stay unhandled for long are published again, so that even the loss of all messages costs only time.
 */
function createPositionCheckpoint(
  context: CheckpointContext,
  followed: FollowedFacts,
  timing: CheckpointTiming,
): ConsumerCheckpoint {
  const { bus, progress, basePorts } = context
  const { key, owner } = followed
  const { clock, log } = basePorts
  const mark = createWatermark()
  const inFlight = trackInFlight(clock, timing.lostAfterMs)
  const handled = bufferHandled(progress, key)
  let checkedAt = Number.NEGATIVE_INFINITY
  /** The stored position when this replica last read or moved it. Another replica may have moved it since, but never back. */
  let saved: bigint | 'start' = 'start'
  let oldestOpen: { readonly position: bigint; readonly since: number } | undefined

  function isBehind(): boolean {
    const handledUpTo = mark.value()
    return handledUpTo !== undefined && (saved === 'start' || saved < handledUpTo)
  }
  async function moveCheckpoint(): Promise<void> {
    if (clock.monotonicMs() - checkedAt < (isBehind() ? timing.moveEveryMs : timing.checkEveryMs)) return
    checkedAt = clock.monotonicMs()
    const { position: from } = await progress.load(key)
    const { reached, open } = await readHandledUpTo(context, followed, from)
    if (reached !== from && reached !== 'start') {
      await progress.saveCheckpoint(key, reached)
      await progress.deleteHandled(key, reached)
    }
    saved = reached
    await republishLost(open)
  }
  async function republishLost(open: readonly StoredEvent[]): Promise<void> {
    const [first] = open
    if (!first) return void (oldestOpen = undefined)
    if (oldestOpen?.position !== first.position) oldestOpen = { position: first.position, since: clock.monotonicMs() }
    if (clock.monotonicMs() - oldestOpen.since < timing.lostAfterMs) return
    const lost = inFlight.without(open)
    if (lost[0]) {
      const logFields = { consumer: key, stream: lost[0].stream, facts: lost.length }
      log.warn(logFields, 'facts did not arrive; requesting them again')
      await republishFacts(bus, owner, lost)
    }
    oldestOpen = { position: first.position, since: clock.monotonicMs() }
  }
  const save = (): Promise<void> => handled.save().then(moveCheckpoint)
  const saver = createCheckpointSaver({ key, basePorts, isIdle: () => handled.isEmpty() && !isBehind(), save }, timing)
  return {
    begin(position) {
      mark.begin(position)
      inFlight.begin(position)
    },
    end(position) {
      mark.end(position)
      inFlight.end(position)
      handled.add(position)
      saver.noteChange()
    },
    save: handled.save,
    run: saver.run,
  }
}

/** Buffers handled positions until they are saved together. */
function bufferHandled(progress: CheckpointContext['progress'], key: string) {
  let unsaved: bigint[] = []
  return {
    add: (position: bigint): void => void unsaved.push(position),
    isEmpty: () => unsaved.length === 0,
    save: async (): Promise<void> => {
      if (unsaved.length === 0) return
      const positions = unsaved
      unsaved = []
      await progress.markHandled(key, positions).catch((error: unknown) => {
        unsaved = [...positions, ...unsaved]
        throw error
      })
    },
  }
}

/** @returns the position up to which all facts are handled, and the unhandled facts of the page after it */
async function readHandledUpTo(
  { store, progress }: CheckpointContext,
  { key, categories }: FollowedFacts,
  from: bigint | 'start',
): Promise<{ reached: bigint | 'start'; open: readonly StoredEvent[] }> {
  for (let reached = from; ;) {
    const page = await store.readAll(reached, PAGE, categories)
    const last = page.at(-1)
    if (!last) return { reached, open: [] }
    const recorded = new Set(await progress.listHandled(key, reached, last.position))
    const open = page.filter(({ position }) => !recorded.has(position))
    const [first] = open
    reached = first ? (page[page.indexOf(first) - 1]?.position ?? reached) : last.position
    if (first) return { reached, open }
  }
}

/** Tracks the facts in flight. A failing fact begins repeatedly, until it is handled or moves to another replica. */
function trackInFlight(clock: BasePorts['clock'], recentMs: number) {
  const startTimes = new Map<bigint, number>()
  const isInFlight = ({ position }: StoredEvent): boolean =>
    clock.monotonicMs() - (startTimes.get(position) ?? Number.NEGATIVE_INFINITY) < recentMs
  return {
    begin: (position: bigint): void => void startTimes.set(position, clock.monotonicMs()),
    end: (position: bigint): void => void startTimes.delete(position),
    /** Omits the facts in flight and the facts of their keys: these have arrived too, or are found later. */
    without(open: readonly StoredEvent[]): readonly StoredEvent[] {
      const keys = new Set(open.filter(isInFlight).map(({ stream }) => aggregateIdOf(stream)))
      return open.filter(({ stream }) => !keys.has(aggregateIdOf(stream)))
    },
  }
}

type CheckpointSaver = Pick<SaverOptions, 'isIdle' | 'save'> & Pick<CheckpointContext, 'basePorts'> & { readonly key: string }

const createCheckpointSaver = ({ key, basePorts, isIdle, save }: CheckpointSaver, timing: CheckpointTiming) =>
  createSaver({
    clock: basePorts.clock,
    everyMs: timing.saveEveryMs,
    idleMs: timing.checkEveryMs,
    isIdle,
    save: () =>
      save().catch((error: unknown) => {
        const text = 'saving the progress failed; a restart may read some facts again'
        basePorts.log.warn({ consumer: key, reason: String(error) }, text)
      }),
  })
