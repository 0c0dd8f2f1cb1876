import type { Divergence } from './fold.ts'
import type { LogHead } from './heads.ts'

/** A UUID, a key or a hash, which two markets never share by chance. Other ids, such as a date, may be the same. */
const RANDOM_ID = /[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{32}/

const hasRandomId = (stream: string): boolean => RANDOM_ID.test(stream)

/**
 * Checks whether store and heads belong to one market. The first head that lists streams with a random id decides: one of
 * these streams must be in the store up to that position. Earlier findings are held back until then.
 */
export function createMarketCheck(onFinding: (divergence: Divergence) => void) {
  const names = new Set<string>()
  const pendingFindings: Divergence[] = []
  let [inStore, inHeads]: [string | null, string | null] = [null, null]
  let isOther: boolean | undefined
  return {
    /** The first streams with a random id, which identify the market. */
    names: () => ({ store_begins_with: inStore, heads_begin_with: inHeads }),
    isOther: (): boolean => isOther === true,
    addStored(stream: string): void {
      if (isOther === undefined && hasRandomId(stream)) {
        inStore ??= stream
        names.add(stream)
      } else if (inStore === null && hasRandomId(stream)) inStore = stream
    },
    addHead({ streams }: LogHead): void {
      if (isOther !== undefined) return
      const random = streams.map(([name]) => name).filter(hasRandomId)
      const [first] = random
      if (first === undefined) return
      inHeads = first
      // An empty store belongs to no market.
      isOther = names.size > 0 && !random.some((name) => names.has(name))
      names.clear()
      if (!isOther) pendingFindings.splice(0).forEach(onFinding)
    },
    /** Reports a finding that counts only if store and heads belong to one market. */
    report(divergence: Divergence): void {
      if (isOther === undefined) pendingFindings.push(divergence)
      else if (!isOther) onFinding(divergence)
    },
    isWaiting: (stream: string): boolean => pendingFindings.some((one) => one.stream === stream),
    end: (): void => pendingFindings.splice(0).forEach((one) => isOther !== true && onFinding(one)),
  }
}
