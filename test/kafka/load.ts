import type { Bus, BusMessage } from '@penstock/ports/bus.ts'

/** Messages that say their place among those of their key. */
export const numbered = (key: string, n: number): BusMessage => ({
  id: `${key}/${n}`,
  key,
  headers: {},
  body: JSON.stringify({ n }),
})
const numberOf = ({ body }: BusMessage): number => (JSON.parse(body) as { n: number }).n // written by `numbered`

/** What consumers see of numbered messages. */
export function ledger() {
  const next = new Map<string, number>()
  const inHand = new Map<string, number>()
  const breaches: string[] = []
  let repeats = 0
  let overlaps = 0
  return {
    breaches,
    repeats: () => repeats,
    /** Calls of one key at the same time, in whatever members. */
    overlaps: () => overlaps,
    handled: (key: string): number => next.get(key) ?? 0,
    total: () => [...next.values()].reduce((sum, count) => sum + count, 0),
    /** A message that comes before one that nobody has seen breaks the order; one that comes again is a repeat. */
    async see(message: BusMessage, work: () => Promise<void> = async () => {}): Promise<void> {
      const { key } = message
      const n = numberOf(message)
      const others = inHand.get(key) ?? 0
      if (others > 0) overlaps++
      inHand.set(key, others + 1)
      try {
        await work()
        const expected = next.get(key) ?? 0
        if (n > expected) breaches.push(`${key}/${n} came before ${key}/${expected}`)
        else if (n < expected) repeats++
        else next.set(key, n + 1)
      } finally {
        inHand.set(key, (inHand.get(key) ?? 1) - 1)
      }
    },
  }
}

/** Between two batches: the brokers and the machine have other work too. */
const PAUSE_MS = 25

/** Publishes batches over many keys, one after the other, as a relay does, until it is told to stop. */
export function publishing(bus: Bus, topic: string, keys: readonly string[], batchSize: number) {
  const acknowledged = new Map<string, number>(keys.map((key) => [key, 0]))
  let stopped = false
  let faults = 0
  async function run(): Promise<void> {
    for (let first = 0; !stopped; first = (first + 7) % keys.length) {
      const batch: BusMessage[] = []
      const reached = new Map(acknowledged)
      for (let n = 0; n < batchSize; n++) {
        const key = String(keys[(first + n) % keys.length])
        const number = reached.get(key) ?? 0
        batch.push(numbered(key, number))
        reached.set(key, number + 1)
      }
      try {
        await bus.publish(topic, batch)
        for (const [key, count] of reached) acknowledged.set(key, count)
      } catch {
        // What a fault leaves open is published again, with the same numbers.
        faults++
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
  const running = run()
  return {
    acknowledged,
    total: () => [...acknowledged.values()].reduce((sum, count) => sum + count, 0),
    faults: () => faults,
    async stop(): Promise<void> {
      stopped = true
      await running
    },
  }
}

/** Waits until something is so; the loop ends with a sentence about what never came. */
export async function until(condition: () => boolean | Promise<boolean>, what: string, withinMs = 30_000): Promise<number> {
  const started = performance.now()
  while (!(await condition())) {
    if (performance.now() - started > withinMs) throw new Error(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return performance.now() - started
}
