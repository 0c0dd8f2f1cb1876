import { accountContract, emailClaimContract, nodeClaimContract } from './accounts.ts'
import { channelContract, outpointClaimContract } from './channel.ts'
import type { Contract } from './define.ts'
import { matchContract, offerContract, sellerContract } from './matching.ts'
import { orderContract } from './order.ts'
import { priceContract, quoteContract } from './quote.ts'
import { paymentHashClaimContract, settlementContract } from './settlement.ts'

/** Every contract of the system; a category is owned by one service. */
export const contracts: readonly Contract[] = [
  quoteContract,
  priceContract,
  orderContract,
  offerContract,
  sellerContract,
  matchContract,
  settlementContract,
  paymentHashClaimContract,
  channelContract,
  outpointClaimContract,
  accountContract,
  emailClaimContract,
  nodeClaimContract,
]

const byCategory = new Map(contracts.map((contract) => [contract.category, contract]))

export const findContract = (category: string): Contract | undefined => byCategory.get(category)

/** @throws RangeError for an unknown category */
export function contractOf(category: string): Contract {
  const found = findContract(category)
  if (!found) throw new RangeError(`no contract has the category "${category}"`)
  return found
}
