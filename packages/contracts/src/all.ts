import { account, emailClaim, nodeClaim } from './accounts.ts'
import { channel, outpointClaim } from './channel.ts'
import type { Contract } from './define.ts'
import { match, offer, seller } from './matching.ts'
import { order } from './order.ts'
import { price, quote } from './quote.ts'
import { payhash, settlement } from './settlement.ts'

/** Every contract of the system; a category is owned by one service. */
export const contracts: readonly Contract[] = [
  quote,
  price,
  order,
  offer,
  seller,
  match,
  settlement,
  payhash,
  channel,
  outpointClaim,
  account,
  emailClaim,
  nodeClaim,
]

const byCategory = new Map(contracts.map((contract) => [contract.category, contract]))

/** @throws RangeError for a category that nobody owns */
export function contractOf(category: string): Contract {
  const found = byCategory.get(category)
  if (!found) throw new RangeError(`no contract has the category "${category}"`)
  return found
}
