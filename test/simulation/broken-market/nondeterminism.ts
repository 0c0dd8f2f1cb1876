import { type MarketDefect, onHoldsListed } from './tools.ts'

/** Makes the market read a nondeterministic value, and ignores the error of that read. */
const runQuietly =
  (read: () => unknown): MarketDefect =>
  (world) =>
    onHoldsListed(world, () => {
      try {
        read()
      } catch {
        // The market continues without the value.
      }
    })

export const nondeterminismDefects: Readonly<Record<string, MarketDefect>> = {
  'reads the clock': runQuietly(() => Date.now()),
  'makes a date of now': runQuietly(() => new Date()),
  'draws itself': runQuietly(() => crypto.getRandomValues(new Uint8Array(8))),
  'rolls dice': runQuietly(() => Math.random()),
}
