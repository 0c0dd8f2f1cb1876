import { type Sabotage, whenAsked } from './sabotage-tools.ts'

/** Code of the market that looks at the machine which it runs on. Whoever calls it hears of no error. */
const quietly =
  (look: () => unknown): Sabotage =>
  (world) =>
    whenAsked(world, () => {
      try {
        look()
      } catch {
        // It goes on as if nothing had been.
      }
    })

export const reads: Readonly<Record<string, Sabotage>> = {
  'reads the clock': quietly(() => Date.now()),
  'makes a date of now': quietly(() => new Date()),
  'draws itself': quietly(() => crypto.getRandomValues(new Uint8Array(8))),
  'rolls dice': quietly(() => Math.random()),
}
