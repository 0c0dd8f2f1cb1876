import type { KeyQueueSource, SequencedMessage } from './key-queue-source.ts'

/** The buffered messages of one key. `hasMore`: the log has further messages of the key, up to `lastSeq`. */
export type KeyQueue = {
  readonly key: string
  readonly buffered: SequencedMessage[]
  firstSeq: number
  lastSeq: number
  hasMore: boolean
}

const MAX_BUFFERED = 16

/** Tracks the keys whose messages are being handled, and the progress of each. */
export function createKeyQueues(source: KeyQueueSource) {
  const queues = new Map<string, KeyQueue>()
  return {
    count: () => queues.size,
    /** Adds a message to the queue of its key. @returns false if the key has no queue */
    enqueue(message: SequencedMessage): boolean {
      const queue = queues.get(message.key)
      if (!queue) return false
      if (queue.buffered.length < MAX_BUFFERED && !queue.hasMore) queue.buffered.push(message)
      else queue.hasMore = true
      queue.lastSeq = message.seq
      return true
    },
    open(message: SequencedMessage): KeyQueue {
      const queue = { key: message.key, buffered: [message], firstSeq: message.seq, lastSeq: message.seq, hasMore: false }
      queues.set(message.key, queue)
      return queue
    },
    /** Takes the next message of a queue. The overall progress stays before this message until the next call. */
    next(queue: KeyQueue): SequencedMessage | undefined {
      if (queue.buffered.length === 0 && queue.hasMore) {
        const more = source.readKey(queue.key, queue.firstSeq, queue.lastSeq, MAX_BUFFERED)
        queue.buffered.push(...more)
        queue.hasMore = more.length === MAX_BUFFERED
      }
      const message = queue.buffered.shift()
      if (message) queue.firstSeq = message.seq
      return message
    },
    /** Removes a finished queue. A stopped queue stays, so that the progress never passes an unhandled message. */
    close: (queue: KeyQueue): void => void queues.delete(queue.key),
    /** @returns the number up to which all messages are handled, if the messages up to `takenUpTo` were taken */
    progress(takenUpTo: number): number {
      let handled = takenUpTo
      for (const queue of queues.values()) handled = Math.min(handled, queue.firstSeq - 1)
      return handled
    },
  }
}
