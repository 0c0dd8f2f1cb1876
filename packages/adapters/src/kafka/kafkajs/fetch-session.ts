/** A topic of a fetch, with the partitions to read from one broker. */
export type FetchTopic = { readonly topic: string; readonly partitions: readonly FetchPartition[] }
type FetchPartition = { readonly partition: number; readonly fetchOffset: string; readonly maxBytes: number }

/** The fields of a fetch request that depend on the session. `topics` lists only partitions that the broker does not know. */
export type SessionRequest = {
  readonly sessionId: number
  readonly sessionEpoch: number
  readonly topics: readonly FetchTopic[]
  readonly forgottenTopics: readonly { readonly topic: string; readonly partitions: readonly number[] }[]
}
export type SessionResponse = { readonly errorCode?: number; readonly sessionId?: number }

type KnownPartition = { readonly topic: string; readonly partition: number; readonly fetchOffset: string }

const MAX_EPOCH = 2_147_483_647

/**
 * An incremental fetch session at one broker (KIP-227). The broker remembers the partitions and offsets of the session, so a fetch
 * transmits only those that have changed, and its response only those that have messages. A broker without room for another
 * session answers with the session id 0, and then gets all partitions each time.
 */
export function createFetchSession() {
  let [id, epoch] = [0, 0]
  let fullFetches = 0
  let known = new Map<string, KnownPartition>()
  const keyOf = (topic: string, partition: number): string => `${topic}/${partition}`

  /** The next request closes the old session at the broker by its id. */
  function reset(): void {
    epoch = 0
    known = new Map()
  }
  /** Begins with another topic each time, because a broker fills its response in the order of the request. */
  function rotate(topics: readonly FetchTopic[]): readonly FetchTopic[] {
    const first = fullFetches++ % Math.max(1, topics.length)
    return [...topics.slice(first), ...topics.slice(0, first)]
  }
  return {
    /** @param topics all partitions to read */
    begin(topics: readonly FetchTopic[]): SessionRequest {
      const previous = known
      known = new Map(
        topics.flatMap(({ topic, partitions }) =>
          partitions.map(({ partition, fetchOffset }) => [keyOf(topic, partition), { topic, partition, fetchOffset }] as const),
        ),
      )
      if (epoch === 0) return { sessionId: id, sessionEpoch: 0, topics: rotate(topics), forgottenTopics: [] }
      const isChanged = (topic: string, { partition, fetchOffset }: FetchPartition): boolean =>
        previous.get(keyOf(topic, partition))?.fetchOffset !== fetchOffset
      const forgotten = [...previous].flatMap(([key, partition]) => (known.has(key) ? [] : [partition]))
      return {
        sessionId: id,
        sessionEpoch: epoch,
        topics: topics
          .map(({ topic, partitions }) => ({ topic, partitions: partitions.filter((one) => isChanged(topic, one)) }))
          .filter(({ partitions }) => partitions.length > 0),
        forgottenTopics: [...Map.groupBy(forgotten, ({ topic }) => topic)].map(([topic, partitions]) => ({
          topic,
          partitions: partitions.map(({ partition }) => partition),
        })),
      }
    },
    /** @returns false if the broker has forgotten the session, so that the fetch has to be repeated in a new one */
    end({ errorCode = 0, sessionId = 0 }: SessionResponse): boolean {
      if (errorCode !== 0 || sessionId === 0) {
        id = 0
        reset()
      } else [id, epoch] = [sessionId, epoch === MAX_EPOCH ? 1 : epoch + 1]
      return errorCode === 0
    },
    /** Begins a new session with the next fetch. The state of the old session is unknown after an error. */
    reset,
  }
}
