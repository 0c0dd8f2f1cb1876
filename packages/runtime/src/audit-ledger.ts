import { contractOf } from '@penstock/contracts/all.ts'
import { categoryOf, type StoredEvent } from '@penstock/ports/event-store.ts'

/** Every posting adds up to nothing by itself, whatever aggregate it stands in. */
export function ledgerCheck(): { add(event: Pick<StoredEvent, 'stream' | 'type' | 'data'>): void; balanced(): boolean } {
  let unbalanced = 0
  return {
    add(event) {
      if (event.type !== 'LedgerPosted') return
      try {
        if (!contractOf(categoryOf(event.stream)).facts['LedgerPosted']) return
        // The contract's shape; an edited event that is no JSON is a divergence of its stream already.
        const { entries } = JSON.parse(event.data) as { entries: readonly { amountMsat: string }[] }
        if (entries.reduce((sum, entry) => sum + BigInt(entry.amountMsat), 0n) !== 0n) unbalanced += 1
      } catch {
        unbalanced += 1
      }
    },
    balanced: () => unbalanced === 0,
  }
}
