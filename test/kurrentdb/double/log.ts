/** An event as the server keeps it. Positions are places in its log file: they grow by the size of what is stored. */
export type LogRecord = {
  readonly stream: string
  readonly revision: bigint
  readonly position: bigint
  readonly id: string
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}
export type Proposed = Pick<LogRecord, 'id' | 'type' | 'contentType' | 'data' | 'metadata'>

export type LogAnswer =
  | { readonly revision: bigint; readonly position: bigint }
  /** Undefined: there is no such stream. */
  | { readonly wrong: { readonly current: bigint | undefined } }

const SYSTEM_EVERY = 5
const RECORD_OVERHEAD = 100
const NOTHING = new Uint8Array()

/**
 * What a single node keeps, with its rules for expected revisions: what does not fit is compared with what stands
 * there, and the same ids at the same revisions are answered as a first success. Between ours it writes events of its
 * own, as a server does: statistics, metadata of streams, links of projections.
 */
export function serverLog(
  before: readonly LogRecord[] = [],
  /** Told of every batch before it is seen by anybody. */
  keep: (batch: readonly LogRecord[]) => void = () => undefined,
) {
  const all: LogRecord[] = []
  const streams = new Map<string, LogRecord[]>()
  const watchers = new Set<() => void>()
  let end = 0n
  let appends = 0

  function store(stream: string, { id, type, contentType, data, metadata }: Proposed): LogRecord {
    const past = streams.get(stream) ?? []
    const record = { stream, revision: BigInt(past.length), position: end, id, type, contentType, data, metadata }
    end += BigInt(RECORD_OVERHEAD + data.length + metadata.length)
    streams.set(stream, [...past, record])
    all.push(record)
    return record
  }

  function system(stream: string, type: string, text = '{}'): void {
    keep([
      store(stream, {
        id: crypto.randomUUID(),
        type,
        contentType: 'application/json',
        data: Buffer.from(text),
        metadata: NOTHING,
      }),
    ])
  }

  for (const { stream, ...proposed } of before) store(stream, proposed)
  if (all.length === 0) system('$settings', '$UserCreated')
  return {
    all: (): readonly LogRecord[] => all,
    stream: (name: string): readonly LogRecord[] | undefined => streams.get(name),
    /** Told after each append. @returns what ends it */
    watch(told: () => void): () => void {
      watchers.add(told)
      return () => watchers.delete(told)
    },
    system,
    /** @param expected undefined: no stream */
    append(stream: string, expected: bigint | undefined, events: readonly Proposed[]): LogAnswer {
      const past = streams.get(stream) ?? []
      const first = expected === undefined ? 0 : Number(expected) + 1
      const last = events.length - 1
      if (first !== past.length) {
        const known = events.every(({ id }, index) => past[first + index]?.id === id) ? past[first + last] : undefined
        return known ?? { wrong: { current: past.at(-1)?.revision } }
      }
      const batch = events.map((event) => store(stream, event))
      const stored = batch[last]
      if (!stored) throw new Error('an append without events')
      keep(batch)
      if (++appends % SYSTEM_EVERY === 0) {
        writeBetween(system, stream, stored.revision, appends)
      }
      for (const told of watchers) told()
      return stored
    },
  }
}
export type ServerLog = ReturnType<typeof serverLog>

/** What a server writes of its own between our events. */
function writeBetween(
  system: (stream: string, type: string, text?: string) => void,
  stream: string,
  revision: bigint,
  appends: number,
): void {
  system('$stats-127.0.0.1', '$statsCollected')
  system(`$$${stream}`, '$metadata')
  system('$ce-order', '$>', `${revision}@${stream}`)
  // A projection of the operator's may link into a stream with a name like ours.
  system(`order-linked-${appends}`, '$>', `${revision}@${stream}`)
}
