import { setImmediate as nextTurn } from 'node:timers/promises'
import { Bug } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { gapAfter, type Kept, showGap } from './audit-gap.ts'
import {
  type Head,
  type HeadLog,
  isSigned,
  type LogEnd,
  NO_HEAD,
  parseHead,
  positionOf,
  readEnd,
  sealEnd,
  segment,
} from './audit-heads.ts'
import type { Log } from './log.ts'
import { type Service, service } from './service.ts'

/** A kill leaves what came since the last head: some seconds, and not many events even where much comes. */
const LOOK_EVERY_MS = 1000
const HEAD_EVERY_MS = 4000
const HEAD_EVERY_EVENTS = 250
const END_EVERY_MS = 10_000
/** Of a head, while it catches up. */
const MOST_EVENTS = 10_000
const PAGE = 500

type Keeping = {
  readonly store: Pick<EventStore, 'readAll'>
  readonly heads: HeadLog
  readonly clock: Clock
  readonly log: Log
  /** Nobody appends before this has begun, nor after it was stopped. */
  readonly isAlone?: boolean
  /** Told once what follows the last head was judged. */
  readonly begun?: () => void
}

/**
 * Notes log heads while the market runs. It reads the log a little behind, in pages, beside everything else: appends
 * neither wait for it nor know of it. After a restart it goes on from the last head.
 * @returns `begun`: resolves once it has judged what the run before left, or could not
 */
export function headKeeper(
  store: Pick<EventStore, 'readAll'>,
  heads: HeadLog,
  { isAlone = false }: Pick<Keeping, 'isAlone'> = {},
): { readonly keeper: Service; readonly begun: Promise<void> } {
  const begun = Promise.withResolvers<void>()
  const keeping = (ports: Pick<Keeping, 'clock' | 'log'>): Keeping => ({ ...ports, store, heads, isAlone, begun: begun.resolve })
  const keeper = service('audit', {
    jobs: [
      {
        name: 'audit heads',
        run: ({ ports }, signal) => keepHeads(keeping(ports), signal).finally(begun.resolve),
      },
    ],
  })
  return { keeper, begun: begun.promise }
}

/** Runs until the signal, and then notes what has come by then. It ends at once where the store lacks what the last head knows. */
export async function keepHeads(keeping: Keeping, signal: AbortSignal): Promise<void> {
  const { clock, isAlone = false, begun } = keeping
  const head = await begin(keeping)
  if (!head) return
  const writing = writer(keeping, head)
  await readOn(keeping, writing)
  await writing.end(false)
  begun?.()
  let [openSince, endAt] = [clock.now(), clock.now()]
  for (;;) {
    const isOver = signal.aborted
    const now = clock.now()
    if (writing.size() === 0) openSince = now
    await readOn(keeping, writing)
    const isDue = writing.size() >= HEAD_EVERY_EVENTS || now - openSince >= HEAD_EVERY_MS
    if (isDue || isOver) await writing.head()
    if (isOver) return writing.end(isAlone)
    if (now - endAt >= END_EVERY_MS) {
      await writing.end(false)
      endAt = now
    }
    await clock.sleep(LOOK_EVERY_MS, signal)
  }
}

type Reached = Pick<Head, 'position' | 'events' | 'hash'>

/** @returns where to go on; undefined where the store lacks what the last head knows */
async function begin(keeping: Keeping): Promise<Reached | undefined> {
  const { store, heads, clock, log } = keeping
  const line = await heads.last()
  const head = line === undefined ? undefined : parseHead(line)
  if (line !== undefined && !isSigned(keyOf(heads), line))
    log.error({ head: head?.position }, 'the last log head is not signed by the audit key; run "penstock audit verify"')
  if (head && !(await reaches(store, head))) {
    log.error({ head: head.position }, LACKING)
    return undefined
  }
  const end = await lastEnd(keeping)
  const kept: Kept = { head, end, now: clock.now(), isAlone: keeping.isAlone ?? false }
  const gap = await gapAfter(store, kept)
  const from = head ?? NO_HEAD
  // The first line of all says since when heads are kept.
  if (!head) await heads.append(segment(NO_HEAD).seal(keyOf(heads), clock.now()))
  if (!gap) return from
  log.error(gap, GAP)
  showGap(clock.now())
  const writing = writer(keeping, from, true)
  await readOn(keeping, writing)
  await writing.head()
  return writing.reached()
}

const LACKING =
  'the store lacks events that were in it when the last log head was written: was an older copy restored, or its end removed? No heads are written; run "penstock audit verify"'
const GAP =
  'more follows the last log head than a kill can leave; it is covered by heads that are marked as a gap; run "penstock audit verify"'

async function lastEnd({ heads, log }: Keeping): Promise<LogEnd | undefined> {
  const line = await heads.end()
  if (line === undefined) return undefined
  const end = isSigned(keyOf(heads), line) ? readEnd(line) : undefined
  if (!end) log.error({}, 'the last known end of the log is not signed by the audit key; run "penstock audit verify"')
  return end
}

/** Only a position that the store gave out can be asked for, so what lies before the head is read again. */
async function reaches(store: Keeping['store'], { from, position }: Head): Promise<boolean> {
  const wanted = positionOf(position)
  let after = positionOf(from)
  while (wanted !== 'start') {
    const page = await store.readAll(after, PAGE).catch((error: unknown) => {
      // A store that never had the position, since another copy took its place.
      if (error instanceof Bug) return []
      throw error
    })
    if (page.some((event) => event.position === wanted)) return true
    const last = page.at(-1)?.position
    if (last === undefined || last > wanted) return false
    after = last
  }
  return true
}

/** Reads what has come since, and has a head written whenever one is full. */
async function readOn({ store }: Keeping, writing: ReturnType<typeof writer>): Promise<void> {
  for (;;) {
    const page = await store.readAll(positionOf(writing.reached().position), PAGE)
    for (const event of page) {
      writing.add(event)
      if (writing.size() === MOST_EVENTS) await writing.head()
    }
    if (page.length < PAGE) return
    await nextTurn()
  }
}

function writer({ heads, clock }: Keeping, from: Reached, isGap = false) {
  let open = segment(from)
  return {
    size: () => open.size(),
    reached: () => open.reached(),
    add: (event: StoredEvent): void => open.add(event),
    async head(): Promise<void> {
      if (open.size() === 0) return
      await heads.append(open.seal(keyOf(heads), clock.now(), isGap))
      open = segment(open.reached())
    },
    end: (closed: boolean): Promise<void> =>
      heads.writeEnd(sealEnd(keyOf(heads), { ...open.reached(), at: clock.now(), closed })),
  }
}

function keyOf({ key }: Pick<HeadLog, 'key'>): Uint8Array {
  if (!key) throw new Error('log heads cannot be written without the audit key')
  return key
}
