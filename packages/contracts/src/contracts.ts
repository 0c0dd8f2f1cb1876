import { accountContract, emailClaimContract, nodeClaimContract } from './accounts.ts'
import { channelContract, outpointClaimContract } from './channel.ts'
import type { Contract, MessageData } from './define.ts'
import { matchContract, offerContract, sellerContract } from './matching.ts'
import { orderContract } from './order.ts'
import { endpointContract } from './payments/endpoint.ts'
import { environmentContract } from './payments/environment.ts'
import { receiveContract } from './payments/receive.ts'
import { sendClaimContract, sendContract } from './payments/send.ts'
import { serviceKeyContract } from './payments/service-key.ts'
import { walletContract } from './payments/wallet.ts'
import { priceContract, quoteContract } from './quote.ts'
import { paymentHashClaimContract, settlementContract } from './settlement.ts'

const all = [
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
  environmentContract,
  walletContract,
  receiveContract,
  sendContract,
  sendClaimContract,
  serviceKeyContract,
  endpointContract,
] as const

/** Every contract of the system; a category is owned by one service. */
export const contracts: readonly Contract[] = all

type AnyContract = (typeof all)[number]
type CommandNameOf<C> = C extends Contract ? `${C['category']}.${keyof C['commands'] & string}` : never
type CommandDataOf<C, Name extends string> = C extends Contract
  ? Name extends `${C['category']}.${infer Type extends keyof C['commands'] & string}`
    ? MessageData<C['commands'][Type]>
    : never
  : never

/** A command of any contract, as `<category>.<type>`. */
export type CommandName = CommandNameOf<AnyContract>
export type CommandDataByName<Name extends CommandName> = CommandDataOf<AnyContract, Name>

const byCategory = new Map(contracts.map((contract) => [contract.category, contract]))

export const findContract = (category: string): Contract | undefined => byCategory.get(category)

/** @throws RangeError for an unknown category */
export function contractOf(category: string): Contract {
  const found = findContract(category)
  if (!found) throw new RangeError(`no contract has the category "${category}"`)
  return found
}
