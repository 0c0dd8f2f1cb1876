import type { HandlerResult } from '@penstock/ports/bus.ts'
import type { DispatcherOptions } from '../../shared/dispatcher.ts'
import { type AsideListener, type MessageHandler, createHandlerRegistry } from '../../shared/handler-registry.ts'
import type { Semaphore } from '@penstock/kernel/semaphore.ts'
import { createMessageSemaphores } from '../../shared/message-semaphores.ts'
import { replayKey } from '../../shared/parked-replay.ts'
import { createRetry } from '../../shared/retry.ts'
import { createTaskSet } from '../../shared/task-set.ts'
import { createPausableGate } from './pausable-gate.ts'
import { type QueuedMessage, createPerKeyQueues } from './per-key-queues.ts'
import type { SharedParkedKeys, ParkedKeyState } from '../parked-tables.ts'
import { createParkedKeysCache } from './parked-keys-cache.ts'
import type { ReceivedMessage } from './to-bus-message.ts'
import type { InFlightOffsets } from './in-flight-offsets.ts'

/** Handles the messages of one group and topic in this process, with one queue per key. The queues run in parallel. */
export function createMessageProcessor(
  subscriptionId: { readonly group: string; readonly topic: string },
  parked: SharedParkedKeys,
  offsetsOf: (partition: number) => InFlightOffsets | undefined,
  options: DispatcherOptions,
) {
  const { regular, semaphoreFor } = createMessageSemaphores(options.concurrency, options.isLowPriority)
  const registry = createHandlerRegistry()
  const stop = new AbortController()
  const intakeGate = createPausableGate(stop.signal)
  const parkedKeys = createParkedKeysCache(subscriptionId, parked)
  const retryUntilDone = createRetry(options, stop.signal, () => {})
  const tasks = createTaskSet()
  const deliver = ({ message, offsets }: QueuedMessage, semaphore: Semaphore): Promise<boolean> =>
    retryUntilDone(semaphore, () =>
      intakeGate.run(async () => {
        if (offsets.isRevoked()) return
        if (await parkedKeys.parkBehind(message)) return registry.aside(message)
        const outcome = await registry.call(message)
        if (outcome !== 'done') await parkedKeys.park(message, outcome.park, outcome.lostBefore).then(outcome.onStored)
      }),
    )
  const queues = createPerKeyQueues(semaphoreFor, deliver)
  const handleAgain = (message: ReceivedMessage): Promise<HandlerResult> => intakeGate.run(() => registry.call(message))

  async function replay({ key, partition }: ParkedKeyState): Promise<void> {
    await regular.acquire()
    // A replay stops when its partition is lost, because the new owner of the partition continues the replay.
    const stopped = createAbortView(() => stop.signal.aborted || offsetsOf(partition) === undefined)
    const outcome = await replayKey(parkedKeys.source, key, handleAgain, (attempt) => retryUntilDone(regular, attempt), stopped)
    parkedKeys.endReplay(key, outcome)
    regular.release()
  }

  return {
    add: (handle: MessageHandler, aside: AsideListener): void => registry.add(handle, aside),
    /** @returns whether this was the last handler, and a promise for its messages in flight */
    remove(handle: MessageHandler): { readonly isLast: boolean; readonly inFlight: Promise<void> } {
      const inFlight = registry.remove(handle)
      return { isLast: registry.count() === 0 && !stop.signal.aborted, inFlight }
    },
    accept: (message: ReceivedMessage, offsets: InFlightOffsets): void => {
      if (offsets.add(message.offset)) tasks.add(queues.enqueue({ message, offsets }))
    },
    /**
     * Applies the table of parked keys that all members share. Starts the requested replays.
     * @returns false for an outdated list
     */
    updateParkedKeys(states: readonly ParkedKeyState[], listVersion: number): boolean {
      if (!parkedKeys.update(states, listVersion)) return false
      for (const key of states)
        if (key.replaying && !stop.signal.aborted && offsetsOf(key.partition) && parkedKeys.startReplay(key.key))
          tasks.add(replay(key))
      return true
    },
    /** The version at which a caller reads the list for `updateParkedKeys`. */
    parkedKeysVersion: parkedKeys.version,
    /** Starts no message until `resume`. Resolves when no message is in flight. */
    pause: () => intakeGate.pause(),
    resume: () => intakeGate.resume(),
    async stop(): Promise<void> {
      stop.abort()
      intakeGate.resume()
      await tasks.waitForAll()
    },
  }
}

/** A minimal abort signal that computes its state at each read. */
const createAbortView = (isAborted: () => boolean) => ({
  get aborted() {
    return isAborted()
  },
})
