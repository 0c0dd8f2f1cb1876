import { command } from '@penstock/kernel/process.ts'
import type { OfferTarget } from '@penstock/contracts/matching.ts'
import { accountHolder } from '../../access.ts'
import { sendCommand } from '../../commands/commands.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { parseOfferChanges } from './offer-input.ts'
import { assertOwnsOffer, readOfferResult } from './own-offer.ts'
import type { MarketOfferMutationsUpdateArgs } from '../../generated/schema-types.ts'

export const updateOffer = mutation({
  path: 'market.offer.update',
  access: accountHolder,
  input: ({ input }: MarketOfferMutationsUpdateArgs) => ({ offerId: parseId(input.offer_id), changes: input }),
  run: async ({ offerId, changes }, { gateway, caller: { accountId } }) => {
    await assertOwnsOffer(gateway, accountId, offerId)
    // The fields are parsed last, so that an unknown offer is refused before an invalid field.
    const update = command<OfferTarget>('offer', offerId, {
      type: 'UpdateOffer',
      data: { ...parseOfferChanges(changes), by: accountId },
    })
    await sendCommand(gateway, update)
    return readOfferResult(gateway, offerId)
  },
})
