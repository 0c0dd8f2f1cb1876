import { contractOf } from '@penstock/contracts/contracts.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'

/** Checks that the entries of every ledger posting add up to zero, in whatever stream the posting is. */
export function createLedgerCheck(): { add(event: Pick<StoredEvent, 'stream' | 'type' | 'data'>): void; isBalanced(): boolean } {
  let unbalanced = 0
  return {
    add(event) {
      if (event.type !== 'LedgerPosted') return
      try {
        if (!contractOf(categoryOf(event.stream)).facts['LedgerPosted']) return
        // The contract has this shape. The fold already reports an edited event that is not JSON.
        const { entries } = JSON.parse(event.data) as { entries: readonly { amountMsat: string }[] }
        if (entries.reduce((sum, entry) => sum + BigInt(entry.amountMsat), 0n) !== 0n) unbalanced += 1
      } catch {
        unbalanced += 1
      }
    },
    isBalanced: () => unbalanced === 0,
  }
}
