import { aggregateIdOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { Progress } from '@penstock/ports/progress.ts'
import type { Basics } from './basics.ts'
import { publishAgain } from './republish.ts'
import { watermark } from './watermark.ts'

export type SettlingContext = {
  readonly store: EventStore
  readonly bus: Bus
  readonly progress: Progress
  readonly basics: Pick<Basics, 'clock' | 'log'>
}

/** Whose facts are followed, and under which name the position is kept. */
export type Followed = { readonly key: string; readonly owner: string; readonly categories: readonly string[] }

/** Moves the position up to which a consumer has dealt with everything, where a start reads on. */
export type Settling = {
  begin(position: bigint): void
  /** It is done, or kept with a parked key. */
  end(position: bigint): void
  /** Goes on until the signal. */
  run(signal: AbortSignal): Promise<void>
  /** Keeps what is known now. */
  save(): Promise<void>
}

export type SettlingTimes = {
  /** How often what was done is written down. */
  readonly saveEveryMs: number
  /** How often the position is moved while there is something behind it, and at most otherwise. */
  readonly settleEveryMs: number
  readonly lookEveryMs: number
  /** A fact that nobody has done for so long was lost on its way, and is wanted from its owner once more. */
  readonly lostAfterMs: number
}

const standard: SettlingTimes = { saveEveryMs: 500, settleEveryMs: 2000, lookEveryMs: 60_000, lostAfterMs: 300_000 }
const PAGE = 500

export const settling = (context: SettlingContext, followed: Followed, times: SettlingTimes = standard): Settling =>
  context.bus.mayLose === true ? byNotes(context, followed, times) : byWatermark(context, followed, times)

/** Where nothing is lost between the store and here, what this process has in hand tells what is done. */
function byWatermark({ progress, basics }: SettlingContext, { key }: Followed, times: SettlingTimes): Settling {
  const mark = watermark()
  let saved: bigint | undefined
  const save = async (): Promise<void> => {
    const position = mark.value()
    if (position === undefined || position === saved) return
    await progress.settle(key, position)
    saved = position
  }
  return { ...mark, save, run: (signal) => repeatedly(save, key, basics, times.saveEveryMs, signal) }
}

/**
 * Where messages may be lost, or are in the hands of others, only the store knows what is still to come: each event that
 * was done is noted by its position, and the settled one moves over those that are noted, without a gap. What stays behind
 * for long is published once more, so that even the loss of all messages costs nothing but time.
 */
function byNotes(context: SettlingContext, followed: Followed, times: SettlingTimes): Settling {
  const { bus, progress, basics } = context
  const { key, owner } = followed
  const { clock, log } = basics
  const mark = watermark()
  const hand = inHand(clock, times.lostAfterMs)
  let unsaved: bigint[] = []
  let lookedAt = Number.NEGATIVE_INFINITY
  let missing: { readonly position: bigint; readonly since: number } | undefined

  const note = async (): Promise<void> => {
    if (unsaved.length === 0) return
    const positions = unsaved
    unsaved = []
    await progress.note(key, positions).catch((error: unknown) => {
      unsaved = [...positions, ...unsaved]
      throw error
    })
  }
  async function settle(): Promise<void> {
    const { position: from } = await progress.load(key)
    const mine = mark.value()
    const isBehind = mine !== undefined && (from === 'start' || from < mine)
    if (clock.monotonicMs() - lookedAt < (isBehind ? times.settleEveryMs : times.lookEveryMs)) return
    lookedAt = clock.monotonicMs()
    const { reached, open } = await doneAfter(context, followed, from)
    if (reached !== from && reached !== 'start') {
      await progress.settle(key, reached)
      await progress.dropNotes(key, reached)
    }
    await seek(open)
  }
  async function seek(open: readonly StoredEvent[]): Promise<void> {
    const [first] = open
    if (!first) return void (missing = undefined)
    if (missing?.position !== first.position) missing = { position: first.position, since: clock.monotonicMs() }
    if (clock.monotonicMs() - missing.since < times.lostAfterMs) return
    const lost = hand.without(open)
    if (lost[0]) {
      const told = { consumer: key, stream: lost[0].stream, facts: lost.length }
      log.warn(told, 'facts did not arrive; they are wanted once more')
      await publishAgain(bus, owner, lost)
    }
    missing = { position: first.position, since: clock.monotonicMs() }
  }
  return {
    ...mark,
    begin(position) {
      mark.begin(position)
      hand.begin(position)
    },
    end(position) {
      mark.end(position)
      hand.end(position)
      unsaved.push(position)
    },
    save: note,
    run: (signal) => repeatedly(() => note().then(settle), key, basics, times.saveEveryMs, signal),
  }
}

/** @returns the end of what is done without a gap, and what is not done of the page behind it */
async function doneAfter(
  { store, progress }: SettlingContext,
  { key, categories }: Followed,
  from: bigint | 'start',
): Promise<{ reached: bigint | 'start'; open: readonly StoredEvent[] }> {
  for (let reached = from; ;) {
    const page = await store.readAll(reached, PAGE, categories)
    const last = page.at(-1)
    if (!last) return { reached, open: [] }
    const noted = new Set(await progress.noted(key, reached, last.position))
    const open = page.filter(({ position }) => !noted.has(position))
    const [first] = open
    reached = first ? (page[page.indexOf(first) - 1]?.position ?? reached) : last.position
    if (first) return { reached, open }
  }
}

/** What this process is at. A fact that fails is begun again and again, until it is done or another replica's. */
function inHand(clock: Basics['clock'], recentMs: number) {
  const begun = new Map<bigint, number>()
  const isIn = ({ position }: StoredEvent): boolean =>
    clock.monotonicMs() - (begun.get(position) ?? Number.NEGATIVE_INFINITY) < recentMs
  return {
    begin: (position: bigint): void => void begun.set(position, clock.monotonicMs()),
    end: (position: bigint): void => void begun.delete(position),
    /** Nor those that wait behind one of them: they have arrived too, or are found afterwards. */
    without(open: readonly StoredEvent[]): readonly StoredEvent[] {
      const keys = new Set(open.filter(isIn).map(({ stream }) => aggregateIdOf(stream)))
      return open.filter(({ stream }) => !keys.has(aggregateIdOf(stream)))
    },
  }
}

async function repeatedly(
  save: () => Promise<void>,
  key: string,
  { clock, log }: SettlingContext['basics'],
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (let stopping = false; !stopping;) {
    await clock.sleep(everyMs, signal)
    stopping = signal.aborted
    try {
      await save()
    } catch (error) {
      log.warn({ consumer: key, reason: String(error) }, 'progress was not saved; a restart reads a little more')
    }
  }
}
