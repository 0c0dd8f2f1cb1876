import type { BusMessage, Subscription } from '@penstock/ports/bus.ts'
import { createSemaphore } from '@penstock/kernel/semaphore.ts'

export type Semaphore = ReturnType<typeof createSemaphore>

/** Handler slots. Low-priority messages have slots of their own, so that they never delay other messages. */
export function createMessageSemaphores(concurrency: number, isLowPriority: NonNullable<Subscription['isLowPriority']>) {
  const [regular, lowPriority] = [createSemaphore(concurrency), createSemaphore(concurrency)]
  return { regular, semaphoreFor: (message: BusMessage): Semaphore => (isLowPriority(message) ? lowPriority : regular) }
}
