import { command } from '@penstock/kernel/process.ts'
import type { OfferTarget } from '@penstock/contracts/matching.ts'
import { accountHolder } from '../../access.ts'
import { sendCommand } from '../../commands/commands.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { assertOwnsOffer, readOfferResult } from './own-offer.ts'
import type { MarketOfferMutationsToggleArgs } from '../../generated/schema-types.ts'

export const toggleOffer = mutation({
  path: 'market.offer.toggle',
  access: accountHolder,
  input: ({ input }: MarketOfferMutationsToggleArgs) => parseId(input.offer_id),
  run: async (offerId, { gateway, caller: { accountId } }) => {
    await assertOwnsOffer(gateway, accountId, offerId)
    await sendCommand(gateway, command<OfferTarget>('offer', offerId, { type: 'ToggleOffer', data: { by: accountId } }))
    return readOfferResult(gateway, offerId)
  },
})
