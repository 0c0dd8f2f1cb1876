import type { Bus, BusMessage, Handled, RunningSubscription } from './bus.ts'

let counter = 0
export const message = (key: string, body: object = {}): BusMessage => ({
  id: `message-${++counter}`,
  key,
  headers: { trace: `trace-${counter}` },
  body: JSON.stringify(body),
})
export const several = (key: string, count: number): BusMessage[] => Array.from({ length: count }, () => message(key))
export const idsOf = (messages: readonly BusMessage[]): string[] => messages.map(({ id }) => id)
const DEADLINE_MS = 10_000

/** Waits until something is so; the loop ends with a sentence about what never came. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + DEADLINE_MS
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** Subscribes and notes what was handled. */
export async function listen(
  bus: Bus,
  handle: (message: BusMessage) => Promise<Handled> = async () => 'done',
  options: { group?: string; topic?: string; concurrency?: number } = {},
): Promise<{ seen: BusMessage[]; aside: BusMessage[]; running: RunningSubscription }> {
  const seen: BusMessage[] = []
  const aside: BusMessage[] = []
  const running = await bus.subscribe({
    group: 'readers',
    topic: 'orders',
    ...options,
    aside: (received) => void aside.push(received),
    handle: async (received) => {
      const outcome = await handle(received)
      seen.push(received)
      return outcome
    },
  })
  return { seen, aside, running }
}
