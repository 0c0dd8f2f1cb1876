import type { Bus, BusMessage } from '@penstock/ports/bus.ts'

/** Creates a message that contains its key and its sequence number among the messages of this key. */
export const createNumberedMessage = (key: string, sequence: number): BusMessage => ({
  id: `${key}/${sequence}`,
  key,
  headers: {},
  body: JSON.stringify({ n: sequence }),
})
const readNumber = ({ body }: BusMessage): number => (JSON.parse(body) as { n: number }).n // written by `createNumberedMessage`

/** Checks the order in which consumers handle numbered messages, and counts repeats and overlaps. */
export function createOrderChecker() {
  const next = new Map<string, number>()
  const handling = new Map<string, number>()
  const breaches: string[] = []
  let repeats = 0
  let overlaps = 0
  return {
    breaches,
    repeats: () => repeats,
    /** Counts messages that arrived while any member was handling another message of the same key. */
    overlaps: () => overlaps,
    handled: (key: string): number => next.get(key) ?? 0,
    total: () => [...next.values()].reduce((sum, count) => sum + count, 0),
    /** Handles a message. It counts a repeat, and reports a message that arrives before its predecessor. */
    async handle(message: BusMessage, handler: () => Promise<void> = async () => {}): Promise<void> {
      const { key } = message
      const sequence = readNumber(message)
      const concurrent = handling.get(key) ?? 0
      if (concurrent > 0) overlaps++
      handling.set(key, concurrent + 1)
      try {
        await handler()
        const expected = next.get(key) ?? 0
        if (sequence > expected) breaches.push(`${key}/${sequence} came before ${key}/${expected}`)
        else if (sequence < expected) repeats++
        else next.set(key, sequence + 1)
      } finally {
        handling.set(key, (handling.get(key) ?? 1) - 1)
      }
    },
  }
}

/** Milliseconds between two batches, which leave the machine and the brokers time for other work. */
const PAUSE_MS = 25

/** Publishes batches with many keys one after the other, as a relay does, until `stop` is called. */
export function startPublishing(bus: Bus, topic: string, keys: readonly string[], batchSize: number) {
  const acknowledged = new Map<string, number>(keys.map((key) => [key, 0]))
  let stopped = false
  let failures = 0
  async function run(): Promise<void> {
    for (let first = 0; !stopped; first = (first + 7) % keys.length) {
      const batch: BusMessage[] = []
      const nextNumbers = new Map(acknowledged)
      for (let sequence = 0; sequence < batchSize; sequence++) {
        const key = String(keys[(first + sequence) % keys.length])
        const number = nextNumbers.get(key) ?? 0
        batch.push(createNumberedMessage(key, number))
        nextNumbers.set(key, number + 1)
      }
      try {
        await bus.publish(topic, batch)
        for (const [key, count] of nextNumbers) acknowledged.set(key, count)
      } catch {
        // After a fault, the messages may be published or not. The same numbers are published again.
        failures++
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
  const running = run()
  return {
    acknowledged,
    total: () => [...acknowledged.values()].reduce((sum, count) => sum + count, 0),
    faults: () => failures,
    async stop(): Promise<void> {
      stopped = true
      await running
    },
  }
}

/** Waits until the condition holds. @returns the milliseconds that it took @throws Error after the timeout */
export async function pollUntil(
  condition: () => boolean | Promise<boolean>,
  description: string,
  timeoutMs = 90_000,
): Promise<number> {
  const started = performance.now()
  while (!(await condition())) {
    if (performance.now() - started > timeoutMs) throw new Error(`never: ${description}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return performance.now() - started
}
