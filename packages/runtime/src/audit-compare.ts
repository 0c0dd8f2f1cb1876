import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { Divergence } from './audit-fold.ts'
import { type Head, type HeadLog, isSigned, NO_HEAD, parseHead, segment } from './audit-heads.ts'

/** What stands for the whole log where no stream can be named. */
export const WHOLE_LOG = 'log'

export type HeadsReport = {
  /** How many heads were compared, and when the first and the last of them were written (milliseconds since 1970). */
  readonly heads: number
  readonly first_at: number | null
  readonly last_at: number | null
  /** Whether the audit key was there to tell who wrote them. */
  readonly signed: boolean
  /** Events after the last head: for these, nothing tells whether the last ones of a stream were removed. */
  readonly events_after: number
  /** The log's end and its hash. Kept elsewhere, and given to a later audit, it proves everything up to here. */
  readonly note: string
}

/** Compares the log, event by event in order, with the heads that were written while it grew, and with an auditor's own note. */
export async function comparison({ key, lines }: Pick<HeadLog, 'key' | 'lines'>, note: string | undefined, found: (divergence: Divergence) => void) {
  const noted = note === undefined ? undefined : parseNote(note)
  const upcoming = lines()[Symbol.asyncIterator]()
  let count = 0
  let firstAt: number | null = null
  let lastAt: number | null = null
  let open = segment(NO_HEAD)
  let since = NO_HEAD.position
  let head: Head | undefined
  let due: bigint | undefined
  let isNoteMet = noted === undefined || noted.position === 'start'

  const next = async (): Promise<void> => {
    const line = await upcoming.next()
    head = undefined
    if (line.done === true) return
    try {
      head = parseHead(line.value)
    } catch {
      found({ stream: WHOLE_LOG, revision: open.reached().events, what: `line ${count + 1} of the log heads cannot be read` })
      return
    }
    count += 1
    firstAt ??= head.at
    lastAt = head.at
    if (key && !isSigned(key, line.value))
      found({ stream: WHOLE_LOG, revision: head.events, what: `the log head at position ${head.position} is not signed by the audit key` })
  }
  const look = async (): Promise<void> => {
    await next()
    // The head that says since when heads are kept is about no event.
    while (head?.position === 'start') await next()
    due = head === undefined ? undefined : BigInt(head.position)
  }
  const close = async (head: Head): Promise<void> => {
    judge(head, since, open, found)
    since = head.position
    open = segment(head)
    await look()
  }
  await look()

  return {
    /** Whether `reach` has to be awaited before the event is added. */
    isDue: ({ position }: StoredEvent): boolean => due !== undefined && position > due,
    /** Closes the heads that lie before a position. */
    async reach(position: bigint): Promise<void> {
      while (head && due !== undefined && position > due) await close(head)
    },
    add(event: StoredEvent): void {
      open.add(event)
      if (noted === undefined || `${event.position}` !== noted.position) return
      isNoteMet = open.reached().hash === noted.hash
    },
    async end(): Promise<HeadsReport> {
      while (head) await close(head)
      const { position, hash, events } = open.reached()
      if (!isNoteMet) found({ stream: WHOLE_LOG, revision: events, what: `the log up to position ${noted?.position} is not the one of the given note` })
      return { heads: count, first_at: firstAt, last_at: lastAt, signed: key !== undefined && count > 0, events_after: open.size(), note: `${position}:${hash}` }
    },
  }
}

/** A head against the part of the log that it is about. */
function judge(head: Head, from: string, open: ReturnType<typeof segment>, found: (divergence: Divergence) => void): void {
  const reached = open.reached()
  const start = reached.events - open.size()
  if (head.from !== from) return found({ stream: WHOLE_LOG, revision: start, what: `the log heads between position ${from} and ${head.from} are gone` })
  let named = false
  const wrong = (stream: string, revision: number, what: string): void => {
    named = true
    found({ stream, revision, what })
  }
  const since = new Date(head.at).toISOString()
  for (const [stream, first, last, chain] of head.streams) {
    const there = open.streams.get(stream)
    if (!there) wrong(stream, first, `its revisions ${first} to ${last} were there at ${since}, and are gone`)
    else if (there.last < last) wrong(stream, there.last + 1, `its revision ${last} was there at ${since}, and is gone`)
    else if (there.last > last || there.first !== first) wrong(stream, Math.min(there.first, last + 1), `it had other revisions at ${since}`)
    else if (there.chain !== chain) wrong(stream, first, `revisions ${first} to ${last} were others at ${since}, and were written anew`)
  }
  const listed = new Set(head.streams.map(([stream]) => stream))
  for (const [stream, { first }] of open.streams) if (!listed.has(stream)) wrong(stream, first, `revision ${first} was not there at ${since}, and was put in later`)
  if (!named && (reached.hash !== head.hash || reached.events !== head.events))
    wrong(WHOLE_LOG, start, `the log from position ${head.from} to ${head.position} has another order, or other positions, than at ${since}`)
}

function parseNote(note: string): { readonly position: string; readonly hash: string } {
  const [, position, hash] = /^(\d+|start):([0-9a-f]{64})$/.exec(note) ?? []
  if (position === undefined || hash === undefined) throw new Error(`"${note}" is no note of an audit: it looks like <position>:<64 hex digits>.`)
  return { position, hash }
}
