import type { Divergence } from './audit-fold.ts'
import type { Head } from './audit-heads.ts'

/** An id that no two markets share by chance: a UUID, a key or a hash. Others are named by a day, say. */
const RANDOM_ID = /[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{32}/

const isRandom = (stream: string): boolean => RANDOM_ID.test(stream)

/**
 * Tells whether store and heads are of one market: the first heads that name a stream with a random id name one that
 * the store has by then. What is found before that is decided waits.
 */
export function sameMarket(found: (divergence: Divergence) => void) {
  const names = new Set<string>()
  const waiting: Divergence[] = []
  let [inStore, inHeads]: [string | null, string | null] = [null, null]
  let isOther: boolean | undefined
  return {
    /** The first streams with a random id: they name the market. */
    names: () => ({ store_begins_with: inStore, heads_begin_with: inHeads }),
    isOther: (): boolean => isOther === true,
    addStored(stream: string): void {
      if (isOther === undefined && isRandom(stream)) {
        inStore ??= stream
        names.add(stream)
      } else if (inStore === null && isRandom(stream)) inStore = stream
    },
    addHead({ streams }: Head): void {
      if (isOther !== undefined) return
      const random = streams.map(([name]) => name).filter(isRandom)
      const [first] = random
      if (first === undefined) return
      inHeads = first
      // An empty store is of no market.
      isOther = names.size > 0 && !random.some((name) => names.has(name))
      names.clear()
      if (!isOther) waiting.splice(0).forEach(found)
    },
    /** A finding that counts only where both are of one market. */
    found(divergence: Divergence): void {
      if (isOther === undefined) waiting.push(divergence)
      else if (!isOther) found(divergence)
    },
    isWaiting: (stream: string): boolean => waiting.some((one) => one.stream === stream),
    end: (): void => waiting.splice(0).forEach((one) => isOther !== true && found(one)),
  }
}
