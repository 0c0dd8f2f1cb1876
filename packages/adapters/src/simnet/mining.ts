import { addBlock, dropBlocks, heightOf } from './chain.ts'
import { forgetFundings } from './funding.ts'
import { cancelHeldBefore, lapseInvoices } from './invoices.ts'
import type { Net } from './store.ts'

/** One block more, and what every node does when it sees it. */
function nextBlock(net: Net, transactions: 'all' | 'none'): void {
  lapseInvoices(net)
  addBlock(net, transactions)
  cancelHeldBefore(net, heightOf(net))
  forgetFundings(net)
}

export function mine(net: Net, count: number): number {
  if (!Number.isInteger(count) || count < 1 || count > 10_000) throw new RangeError('mine 1 to 10000 blocks at a time')
  for (let block = 0; block < count; block++) net.write(() => nextBlock(net, 'all'))
  return heightOf(net)
}

/**
 * Another branch wins, longer by a block. By miners who had none of the transactions that were in the blocks it replaces:
 * those wait in the mempool again and confirm with the next block. Or, with `remine`, by miners who had all of them and
 * took them into their first block: each may then be in a lower block than before.
 */
export function reorganise(net: Net, depth: number, { remine = false }: { readonly remine?: boolean } = {}): number {
  return net.write(() => {
    const deepest = heightOf(net) - firstHeight(net)
    if (!Number.isInteger(depth) || depth < 1 || depth > deepest) throw new RangeError(`a re-org takes 1 to ${deepest} blocks`)
    dropBlocks(net, depth)
    for (let block = 0; block <= depth; block++) nextBlock(net, remine && block === 0 ? 'all' : 'none')
    return heightOf(net)
  })
}

/** The height at which the world was ready. What made it is never re-organised away. */
const firstHeight = (net: Net): number =>
  Number(net.get<{ value: string }>("SELECT value FROM meta WHERE key = 'first_height'")?.value ?? 0)
