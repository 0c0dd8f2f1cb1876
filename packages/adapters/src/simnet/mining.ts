import { addBlock, dropBlocks, readHeight } from './chain.ts'
import { forgetAbandonedFundings } from './channels/funding.ts'
import { cancelExpiringHolds, expireInvoices } from './payments/invoices.ts'
import type { SimnetStore } from './store.ts'

/** Adds a block, and performs the reactions of all nodes to it. */
function mineBlock(store: SimnetStore, transactions: 'all' | 'none'): void {
  expireInvoices(store)
  addBlock(store, transactions)
  cancelExpiringHolds(store, readHeight(store))
  forgetAbandonedFundings(store)
}

export function mineBlocks(store: SimnetStore, count: number): number {
  if (!Number.isInteger(count) || count < 1 || count > 10_000) throw new RangeError('mine 1 to 10000 blocks at a time')
  for (let block = 0; block < count; block++) store.write(() => mineBlock(store, 'all'))
  return readHeight(store)
}

/**
 * Replaces the last blocks by a branch that is longer by one block. The new branch lacks the replaced transactions, which return
 * to the mempool and confirm with the next block. With `remine`, the first new block contains all of them, so a transaction may
 * be in a lower block than before.
 */
export function reorganiseChain(
  store: SimnetStore,
  depth: number,
  { remine = false }: { readonly remine?: boolean } = {},
): number {
  return store.write(() => {
    const deepest = readHeight(store) - readFirstHeight(store)
    if (!Number.isInteger(depth) || depth < 1 || depth > deepest) throw new RangeError(`a re-org takes 1 to ${deepest} blocks`)
    dropBlocks(store, depth)
    for (let block = 0; block <= depth; block++) mineBlock(store, remine && block === 0 ? 'all' : 'none')
    return readHeight(store)
  })
}

/** The height after the creation of the topology. Blocks up to it are never replaced. */
const readFirstHeight = (store: SimnetStore): number =>
  Number(store.get<{ value: string }>("SELECT value FROM meta WHERE key = 'first_height'")?.value ?? 0)
