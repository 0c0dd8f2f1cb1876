import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '@penstock/ports/clock.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { type Head, type HeadLog, isSigned, NO_HEAD, parseHead, positionOf, segment } from './audit-heads.ts'
import type { Log } from './log.ts'
import { type Service, service } from './service.ts'

const HEAD_EVERY_MS = 5000
const MOST_EVENTS = 10_000
const PAGE = 500

type Keeping = { readonly store: Pick<EventStore, 'readAll'>; readonly heads: HeadLog; readonly clock: Clock; readonly log: Log }

/**
 * Notes log heads while the market runs. It reads the log a few seconds behind, in pages, beside everything else:
 * appends neither wait for it nor know of it. After a restart it goes on from the last head.
 */
export const headKeeper = (store: Pick<EventStore, 'readAll'>, heads: HeadLog): Service =>
  service('audit', { jobs: [{ name: 'audit heads', run: ({ ports }, signal) => keepHeads({ ...ports, store, heads }, signal) }] })

/** Runs until the signal, and then notes what has come by then. */
export async function keepHeads(keeping: Keeping, signal: AbortSignal): Promise<void> {
  const { clock } = keeping
  let head = await newest(keeping)
  for (;;) {
    head = await catchUp(keeping, head)
    if (signal.aborted) return
    await clock.sleep(HEAD_EVERY_MS, signal)
  }
}

type Reached = Pick<Head, 'position' | 'events' | 'hash'>

/** The first line of all says since when heads are kept. */
async function newest({ store, heads, clock, log }: Keeping): Promise<Reached> {
  const line = await heads.last()
  if (line === undefined) {
    await heads.append(segment(NO_HEAD).seal(keyOf(heads), clock.now()))
    return NO_HEAD
  }
  const head = parseHead(line)
  const wrong = !isSigned(keyOf(heads), line)
    ? 'the last log head is not signed by the audit key of this installation'
    : !(await reaches(store, head))
      ? 'the store lacks events that were in it when the last log head was written: was an older copy restored, or its end removed?'
      : undefined
  if (wrong !== undefined) log.error({ head: head.position }, `${wrong}; run "penstock audit verify"`)
  return head
}

/** Only a position that the store gave out can be asked for, so what lies before the head is read again. */
async function reaches(store: Keeping['store'], { from, position }: Head): Promise<boolean> {
  const wanted = positionOf(position)
  let after = positionOf(from)
  while (wanted !== 'start') {
    const page = await store.readAll(after, PAGE)
    if (page.some((event) => event.position === wanted)) return true
    const last = page.at(-1)?.position
    if (last === undefined || last > wanted) return false
    after = last
  }
  return true
}

async function catchUp({ store, heads, clock }: Keeping, head: Reached): Promise<Reached> {
  let open = segment(head)
  const write = async (): Promise<void> => {
    if (open.size() === 0) return
    await heads.append(open.seal(keyOf(heads), clock.now()))
    open = segment(open.reached())
  }
  for (;;) {
    const page = await store.readAll(positionOf(open.reached().position), PAGE)
    for (const event of page) {
      open.add(event)
      if (open.size() === MOST_EVENTS) await write()
    }
    if (page.length < PAGE) break
    await nextTurn()
  }
  await write()
  return open.reached()
}

function keyOf({ key }: HeadLog): Uint8Array {
  if (!key) throw new Error('log heads cannot be written without the audit key')
  return key
}
