import { setImmediate as nextTurn } from 'node:timers/promises'
import { Bug } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { findGap, type KnownLog, showGap } from './gaps.ts'
import {
  type LogHead,
  type LogHeadStore,
  isSigned,
  type SignedLogEnd,
  NO_HEAD,
  parseHead,
  parsePosition,
  parseLogEnd,
  sealLogEnd,
  openSegment,
} from './heads.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { type Service, defineService } from '@penstock/runtime/service.ts'

/** With these limits a crash leaves only the events of the last few seconds without a head. */
const CHECK_EVERY_MS = 1000
const HEAD_EVERY_MS = 4000
const HEAD_EVERY_EVENTS = 250
const END_EVERY_MS = 10_000
/** The maximum number of events per head while the writer catches up. */
const MAX_EVENTS_PER_HEAD = 10_000
const PAGE = 500

type HeadWriterContext = {
  readonly store: Pick<EventStore, 'readAll'>
  readonly heads: LogHeadStore
  readonly clock: Clock
  readonly log: Logger
  /** True if no process appends before the writer starts or after it stops. */
  readonly isAlone?: boolean
  /** Called once the events after the last head were checked for a gap. */
  readonly begun?: () => void
}

/**
 * Creates a service that writes log heads while the market runs. It reads the log in pages shortly after the appends, and
 * no append waits for it. After a restart it continues from the last head.
 * @returns `begun` resolves once the events after the last run were checked for a gap, or the check failed
 */
export function createHeadWriter(
  store: Pick<EventStore, 'readAll'>,
  heads: LogHeadStore,
  { isAlone = false }: Pick<HeadWriterContext, 'isAlone'> = {},
): { readonly keeper: Service; readonly begun: Promise<void> } {
  const begun = Promise.withResolvers<void>()
  const writerContext = (ports: Pick<HeadWriterContext, 'clock' | 'log'>): HeadWriterContext => ({
    ...ports,
    store,
    heads,
    isAlone,
    begun: begun.resolve,
  })
  const keeper = defineService('audit', {
    jobs: [
      {
        name: 'audit heads',
        run: ({ ports }, signal) => runHeadWriter(writerContext(ports), signal).finally(begun.resolve),
      },
    ],
  })
  return { keeper, begun: begun.promise }
}

/** Runs until the signal, and then writes a last head. It ends immediately if the store lacks events of the last head. */
export async function runHeadWriter(writerContext: HeadWriterContext, signal: AbortSignal): Promise<void> {
  const { clock, isAlone = false, begun } = writerContext
  const head = await startWriting(writerContext)
  if (!head) return
  const segmentWriter = createSegmentWriter(writerContext, head)
  await readNewEvents(writerContext, segmentWriter)
  await segmentWriter.end(false)
  begun?.()
  let [openSince, endAt] = [clock.now(), clock.now()]
  for (;;) {
    const isOver = signal.aborted
    const now = clock.now()
    if (segmentWriter.size() === 0) openSince = now
    await readNewEvents(writerContext, segmentWriter)
    const isDue = segmentWriter.size() >= HEAD_EVERY_EVENTS || now - openSince >= HEAD_EVERY_MS
    if (isDue || isOver) await segmentWriter.head()
    if (isOver) return segmentWriter.end(isAlone)
    if (now - endAt >= END_EVERY_MS) {
      await segmentWriter.end(false)
      endAt = now
    }
    await clock.sleep(CHECK_EVERY_MS, signal)
  }
}

type LogPosition = Pick<LogHead, 'position' | 'events' | 'hash'>

/** @returns the position to continue from; undefined if the store lacks events of the last head */
async function startWriting(writerContext: HeadWriterContext): Promise<LogPosition | undefined> {
  const { store, heads, clock, log } = writerContext
  const line = await heads.last()
  const head = line === undefined ? undefined : parseHead(line)
  if (line !== undefined && !isSigned(requireKey(heads), line))
    log.error({ head: head?.position }, 'the last log head is not signed by the audit key; run "penstock audit verify"')
  if (head && !(await hasHead(store, head))) {
    log.error({ head: head.position }, STORE_LACKS_EVENTS)
    return undefined
  }
  const end = await readLastEnd(writerContext)
  const knownLog: KnownLog = { head, end, now: clock.now(), isAlone: writerContext.isAlone ?? false }
  const gap = await findGap(store, knownLog)
  const from = head ?? NO_HEAD
  // The first line records when head writing began, and covers no event.
  if (!head) await heads.append(openSegment(NO_HEAD).seal(requireKey(heads), clock.now()))
  if (!gap) return from
  log.error(gap, UNEXPLAINED_EVENTS)
  showGap(clock.now())
  const segmentWriter = createSegmentWriter(writerContext, from, true)
  await readNewEvents(writerContext, segmentWriter)
  await segmentWriter.head()
  return segmentWriter.reached()
}

const STORE_LACKS_EVENTS =
  'the store lacks events that the last log head covers: was an older copy restored, or its end removed? No heads are written; run "penstock audit verify"'
const UNEXPLAINED_EVENTS =
  'more follows the last log head than a kill can leave; it is covered by heads that are marked as a gap; run "penstock audit verify"'

async function readLastEnd({ heads, log }: HeadWriterContext): Promise<SignedLogEnd | undefined> {
  const line = await heads.end()
  if (line === undefined) return undefined
  const end = isSigned(requireKey(heads), line) ? parseLogEnd(line) : undefined
  if (!end) log.error({}, 'the last known end of the log is not signed by the audit key; run "penstock audit verify"')
  return end
}

/** Reads the events of the head again, because a store reads only from positions that it has returned. */
async function hasHead(store: HeadWriterContext['store'], { from, position }: LogHead): Promise<boolean> {
  const headPosition = parsePosition(position)
  let after = parsePosition(from)
  while (headPosition !== 'start') {
    const page = await store.readAll(after, PAGE).catch((error: unknown) => {
      // The store never returned this position, because the store is another copy.
      if (error instanceof Bug) return []
      throw error
    })
    if (page.some((event) => event.position === headPosition)) return true
    const last = page.at(-1)?.position
    if (last === undefined || last > headPosition) return false
    after = last
  }
  return true
}

/** Reads the new events, and writes a head after every `MAX_EVENTS_PER_HEAD` events. */
async function readNewEvents({ store }: HeadWriterContext, segmentWriter: ReturnType<typeof createSegmentWriter>): Promise<void> {
  for (;;) {
    const page = await store.readAll(parsePosition(segmentWriter.reached().position), PAGE)
    for (const event of page) {
      segmentWriter.add(event)
      if (segmentWriter.size() === MAX_EVENTS_PER_HEAD) await segmentWriter.head()
    }
    if (page.length < PAGE) return
    await nextTurn()
  }
}

function createSegmentWriter({ heads, clock }: HeadWriterContext, from: LogPosition, isGap = false) {
  let current = openSegment(from)
  return {
    size: () => current.size(),
    reached: () => current.reached(),
    add: (event: StoredEvent): void => current.add(event),
    async head(): Promise<void> {
      if (current.size() === 0) return
      await heads.append(current.seal(requireKey(heads), clock.now(), isGap))
      current = openSegment(current.reached())
    },
    end: (closed: boolean): Promise<void> =>
      heads.writeEnd(sealLogEnd(requireKey(heads), { ...current.reached(), at: clock.now(), closed })),
  }
}

function requireKey({ key }: Pick<LogHeadStore, 'key'>): Uint8Array {
  if (!key) throw new Error('log heads cannot be written without the audit key')
  return key
}
