import type { HandlerResult, Subscription } from '@penstock/ports/bus.ts'
import { type AsideListener, type MessageHandler, createHandlerRegistry } from './handler-registry.ts'
import type { Semaphore } from '@penstock/kernel/semaphore.ts'
import { createMessageSemaphores } from './message-semaphores.ts'
import type { KeyQueueSource, SequencedMessage } from './key-queue-source.ts'
import { type KeyQueue, createKeyQueues } from './key-queues.ts'
import { createPagedReader } from './paged-reader.ts'
import { replayKey } from './parked-replay.ts'
import { createRetry, type RetryOptions } from './retry.ts'
import { createTaskSet } from './task-set.ts'

export type DispatcherOptions = RetryOptions & Required<Pick<Subscription, 'concurrency' | 'isLowPriority'>>

export type Dispatcher = {
  /** Takes the messages that can be handled now. Call it after the log has grown. */
  pump(): void
  /** Adds a handler, which shares the messages. The dispatcher ends with its last handler. */
  add(handle: MessageHandler, aside: AsideListener): void
  /** `done` resolves when the handler has no pending call; for the last handler, once the progress is saved too. */
  remove(handle: MessageHandler): { readonly isLast: boolean; readonly done: Promise<void> }
  replay(key: string): void
}

/**
 * Maximum number of key queues per handler slot. A key gives up its slot while it waits for a retry, so at this limit nearly all
 * fail.
 */
const KEYS_PER_SLOT = 16

/**
 * Passes the messages of one group and topic to its handlers. Each key has a queue, and queues run in parallel. Limits on queues
 * and on messages per queue bound the memory; other messages wait in the log.
 */
export function createDispatcher(source: KeyQueueSource, options: DispatcherOptions): Dispatcher {
  const semaphores = createMessageSemaphores(options.concurrency, options.isLowPriority)
  const queues = createKeyQueues(source)
  const registry = createHandlerRegistry()
  const stop = new AbortController()
  const reader = createPagedReader(source)
  const parked = createParkedKeys(source)
  const tasks = createTaskSet()
  const progress = (): number => queues.progress(reader.takenUpTo())
  const saveProgress = createProgressSaver(source, progress)
  const retryUntilDone = createRetry(options, stop.signal, () => pump(false))

  function pump(hasGrown: boolean): void {
    if (stop.signal.aborted || registry.count() === 0) return
    for (let message = reader.peek(hasGrown); message && accept(message); message = reader.peek(false)) reader.take(message)
    saveProgress()
  }
  function accept(message: SequencedMessage): boolean {
    if (queues.enqueue(message)) return true
    const task = startQueue(message)
    if (task) tasks.add(task)
    return task !== undefined
  }
  /** @returns false if the dispatcher was stopped before the message was handled */
  const deliver = async (message: SequencedMessage, semaphore: Semaphore): Promise<boolean> =>
    !stop.signal.aborted &&
    retryUntilDone(semaphore, async () => {
      if (await parked.parkBehind(message)) return registry.aside(message)
      await parked.parkUnlessDone(message, await registry.call(message))
    })
  async function replay(key: string): Promise<void> {
    await semaphores.regular.acquire()
    const retry = (attempt: () => Promise<void>): Promise<boolean> => retryUntilDone(semaphores.regular, attempt)
    const outcome = await replayKey(source, key, registry.call, retry, stop.signal)
    parked.endReplay(key, outcome)
    semaphores.regular.release()
    pump(false)
  }
  const startQueue = createQueueStarter(queues, semaphores, options, deliver, () => pump(false))
  const startReplay = (key: string): void => {
    if (!stop.signal.aborted && parked.startReplay(key)) tasks.add(replay(key))
  }

  return {
    pump: () => pump(true),
    replay: startReplay,
    add(handle, aside) {
      registry.add(handle, aside)
      if (registry.count() === 1) parked.load().forEach(startReplay)
    },
    remove(handle) {
      const inFlight = registry.remove(handle)
      const isLast = registry.count() === 0 && !stop.signal.aborted
      if (!isLast) return { isLast, done: inFlight }
      stop.abort()
      return { isLast, done: tasks.waitForAll().then(() => source.saveNow(progress())) }
    },
  }
}

/**
 * Starts queues while handler slots are free.
 * @param deliver resolves to false if the dispatcher stopped before the message was handled
 * @param onFree is called when a slot has become free
 */
function createQueueStarter(
  queues: ReturnType<typeof createKeyQueues>,
  { semaphoreFor }: ReturnType<typeof createMessageSemaphores>,
  { concurrency, isLowPriority }: DispatcherOptions,
  deliver: (message: SequencedMessage, semaphore: Semaphore) => Promise<boolean>,
  onFree: () => void,
) {
  const maxQueues = concurrency * KEYS_PER_SLOT
  let lowPriorityCount = 0
  async function run(queue: KeyQueue, initial: Semaphore | undefined): Promise<void> {
    let current = initial
    for (let message = queues.next(queue); message; message = queues.next(queue)) {
      const semaphore = semaphoreFor(message)
      if (current !== semaphore) {
        if (current) {
          current.release()
          onFree()
        }
        await semaphore.acquire()
        current = semaphore
      }
      if (!(await deliver(message, semaphore))) return semaphore.release()
    }
    queues.close(queue)
    current?.release()
    onFree()
  }
  /** @returns undefined if the message has to wait in the log */
  return (message: SequencedMessage): Promise<void> | undefined => {
    const hasLowPriority = isLowPriority(message)
    if (hasLowPriority ? lowPriorityCount >= maxQueues / 2 : queues.count() - lowPriorityCount >= maxQueues) return undefined
    const semaphore = semaphoreFor(message)
    const hasSlot = semaphore.tryAcquire()
    // A low-priority message waits for its slot in a queue, because in the log it would block the messages after it.
    if (!hasSlot && !hasLowPriority) return undefined
    if (hasLowPriority) lowPriorityCount++
    return run(queues.open(message), hasSlot ? semaphore : undefined).finally(() => {
      if (hasLowPriority) lowPriorityCount--
    })
  }
}

/** Tracks which keys are parked, and which of them are being replayed. */
function createParkedKeys(source: KeyQueueSource) {
  const parked = new Set<string>()
  const replaying = new Set<string>()
  return {
    /** @returns the keys whose replay was requested before */
    load(): readonly string[] {
      const keys = source.parkedKeys()
      for (const { key } of keys) parked.add(key)
      return keys.filter((key) => key.replaying).map(({ key }) => key)
    },
    /** Parks a message behind the other parked messages of its key. @returns false if the key is not parked */
    async parkBehind(message: SequencedMessage): Promise<boolean> {
      if (!parked.has(message.key)) return false
      if (await source.parkBehind(message)) return true
      parked.delete(message.key)
      return false
    },
    async parkUnlessDone(message: SequencedMessage, outcome: HandlerResult): Promise<void> {
      if (outcome === 'done') return
      await source.park(message, outcome.park)
      parked.add(message.key)
      outcome.onStored?.()
    },
    /** @returns false if the key is being replayed already */
    startReplay(key: string): boolean {
      if (replaying.has(key)) return false
      parked.add(key)
      replaying.add(key)
      return true
    },
    endReplay(key: string, outcome: 'free' | 'parked'): void {
      replaying.delete(key)
      if (outcome === 'free') parked.delete(key)
    },
  }
}

/** Schedules a save whenever the progress has changed. At most one save is scheduled at a time. */
function createProgressSaver(source: KeyQueueSource, progress: () => number): () => void {
  let saved = source.progress()
  let saving = false
  return () => {
    if (saving || progress() === saved) return
    saving = true
    source.saveSoon(() => {
      saving = false
      saved = progress()
      return saved
    })
  }
}
