import { buy, type BuyInput } from '../operations/buy.ts'
import { changing, type WithInput } from './operation.ts'

export const liquidityMutations = {
  buy: changing(({ input }: WithInput<BuyInput>, { gateway, caller, ip }) => buy(gateway, { caller, ip }, input)),
}
