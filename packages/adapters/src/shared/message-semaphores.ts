import type { BusMessage, Subscription } from '@penstock/ports/bus.ts'
import { createSemaphore, type Semaphore } from '@penstock/kernel/semaphore.ts'

/** Handler slots. Low-priority messages have slots of their own, so that they never delay other messages. */
export function createMessageSemaphores(concurrency: number, isLowPriority: NonNullable<Subscription['isLowPriority']>) {
  const [regular, lowPriority] = [createSemaphore(concurrency), createSemaphore(concurrency)]
  return { regular, semaphoreFor: (message: BusMessage): Semaphore => (isLowPriority(message) ? lowPriority : regular) }
}
