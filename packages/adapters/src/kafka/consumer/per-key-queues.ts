import type { Semaphore } from '@penstock/kernel/semaphore.ts'
import type { ReceivedMessage } from './to-bus-message.ts'
import type { InFlightOffsets } from './in-flight-offsets.ts'

export type QueuedMessage = { readonly message: ReceivedMessage; readonly offsets: InFlightOffsets }

/**
 * Queues messages by key. The queues run in parallel, limited by the slots of the semaphores. The limit of messages in flight per
 * partition bounds the length of the queues.
 */
export function createPerKeyQueues(
  semaphoreFor: (message: ReceivedMessage) => Semaphore,
  deliver: (item: QueuedMessage, semaphore: Semaphore) => Promise<boolean>,
) {
  const queues = new Map<string, QueuedMessage[]>()

  async function drain(key: string, queue: QueuedMessage[]): Promise<void> {
    for (let item = queue[0]; item; item = queue[0]) {
      const semaphore = semaphoreFor(item.message)
      await semaphore.acquire()
      const isDone = await deliver(item, semaphore)
      semaphore.release()
      if (!isDone) return
      queue.shift()
      item.offsets.complete(item.message.offset)
    }
    queues.delete(key)
  }
  return {
    /** Adds a message to the queue of its key. @returns the promise of the drained queue, if this message starts the queue */
    enqueue(item: QueuedMessage): Promise<void> | undefined {
      const { key } = item.message
      const queue = queues.get(key)
      if (queue) {
        // A republished copy of a queued message must not count as in flight. The first copy keeps its position.
        if (queue.some((queued) => isCopy(queued, item))) item.offsets.complete(item.message.offset)
        else queue.push(item)
        return undefined
      }
      const newQueue = [item]
      queues.set(key, newQueue)
      return drain(key, newQueue)
    },
  }
}

const isCopy = (queued: QueuedMessage, { message, offsets }: QueuedMessage): boolean =>
  queued.message.id === message.id && queued.offsets === offsets
