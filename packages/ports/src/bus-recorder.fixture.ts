import { waitUntil } from '@penstock/testkit/wait-until.ts'
import type { Bus, BusMessage, HandlerResult, RunningSubscription, Subscription } from './bus.ts'

let counter = 0
export const createMessage = (key: string, body: object = {}): BusMessage => ({
  id: `message-${++counter}`,
  key,
  headers: { trace: `trace-${counter}` },
  body: JSON.stringify(body),
})
export const createMessages = (key: string, count: number): BusMessage[] =>
  Array.from({ length: count }, () => createMessage(key))
export const idsOf = (messages: readonly BusMessage[]): string[] => messages.map(({ id }) => id)
const DEADLINE_MS = 45_000

/** Waits until the condition is true. @throws Error with the description after the deadline */
export async function waitForCondition(condition: () => boolean | Promise<boolean>, description: string): Promise<void> {
  await waitUntil(description, condition, DEADLINE_MS, 1)
}

/** Subscribes, and records the handled messages and the messages that were set aside. */
export async function subscribeAndRecord(
  bus: Bus,
  handle: (message: BusMessage) => Promise<HandlerResult> = async () => 'done',
  options: Partial<Pick<Subscription, 'group' | 'topic' | 'concurrency' | 'isLowPriority'>> = {},
): Promise<{ delivered: BusMessage[]; aside: BusMessage[]; running: RunningSubscription }> {
  const delivered: BusMessage[] = []
  const aside: BusMessage[] = []
  const running = await bus.subscribe({
    group: 'readers',
    topic: 'orders',
    ...options,
    onSetAside: (received) => void aside.push(received),
    handle: async (received) => {
      const outcome = await handle(received)
      delivered.push(received)
      return outcome
    },
  })
  return { delivered, aside, running }
}
