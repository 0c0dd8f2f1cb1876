/** An event as the server stores it. Its position is a byte offset in the log, so positions grow by the size of the records. */
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
export type ProposedEvent = Pick<LogRecord, 'id' | 'type' | 'contentType' | 'data' | 'metadata'>

export type DoubleAppendOutcome =
  | { readonly revision: bigint; readonly position: bigint }
  /** The current revision, or undefined if the stream does not exist. */
  | { readonly wrong: { readonly current: bigint | undefined } }

const SYSTEM_EVERY = 5
const RECORD_OVERHEAD = 100
const NO_BYTES = new Uint8Array()

/**
 * Creates a log with the server's rules for expected revisions. An append that repeats stored ids at their revisions gets the
 * answer of the first append. Any other append at a wrong revision is a conflict. Between our events, the log contains events of
 * the server: statistics, stream metadata and links of projections.
 */
export function createServerLog(
  initialRecords: readonly LogRecord[] = [],
  /** Called with every batch, before the listeners and the answer. */
  persist: (batch: readonly LogRecord[]) => void = () => undefined,
) {
  const records: LogRecord[] = []
  const streams = new Map<string, LogRecord[]>()
  const listeners = new Set<() => void>()
  let end = 0n
  let appends = 0

  function store(stream: string, { id, type, contentType, data, metadata }: ProposedEvent): LogRecord {
    const existing = streams.get(stream) ?? []
    const record = { stream, revision: BigInt(existing.length), position: end, id, type, contentType, data, metadata }
    end += BigInt(RECORD_OVERHEAD + data.length + metadata.length)
    streams.set(stream, [...existing, record])
    records.push(record)
    return record
  }

  function system(stream: string, type: string, text = '{}'): void {
    persist([
      store(stream, {
        id: crypto.randomUUID(),
        type,
        contentType: 'application/json',
        data: Buffer.from(text),
        metadata: NO_BYTES,
      }),
    ])
  }

  for (const { stream, ...proposed } of initialRecords) store(stream, proposed)
  if (records.length === 0) system('$settings', '$UserCreated')
  return {
    all: (): readonly LogRecord[] => records,
    stream: (name: string): readonly LogRecord[] | undefined => streams.get(name),
    /** Calls the listener after each append. @returns a function that removes the listener */
    watch(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    system,
    /** @param expected the expected revision, or undefined if the stream must not exist */
    append(stream: string, expected: bigint | undefined, events: readonly ProposedEvent[]): DoubleAppendOutcome {
      const existing = streams.get(stream) ?? []
      const first = expected === undefined ? 0 : Number(expected) + 1
      const last = events.length - 1
      if (first !== existing.length) {
        const repeated = events.every(({ id }, index) => existing[first + index]?.id === id) ? existing[first + last] : undefined
        return repeated ?? { wrong: { current: existing.at(-1)?.revision } }
      }
      const batch = events.map((event) => store(stream, event))
      const stored = batch[last]
      if (!stored) throw new Error('the append has no events')
      persist(batch)
      if (++appends % SYSTEM_EVERY === 0) {
        writeSystemEvents(system, stream, stored.revision, appends)
      }
      for (const listener of listeners) listener()
      return stored
    },
  }
}
export type ServerLog = ReturnType<typeof createServerLog>

/** Writes the events that a server adds between our events. */
function writeSystemEvents(
  system: (stream: string, type: string, text?: string) => void,
  stream: string,
  revision: bigint,
  appends: number,
): void {
  system('$stats-127.0.0.1', '$statsCollected')
  system(`$$${stream}`, '$metadata')
  system('$ce-order', '$>', `${revision}@${stream}`)
  // An operator's projection may write links to a stream whose name begins with one of our categories.
  system(`order-linked-${appends}`, '$>', `${revision}@${stream}`)
}
