import { command } from '@penstock/kernel/process.ts'
import type { OfferTarget } from '@penstock/contracts/matching.ts'
import { accountHolder } from '../../access.ts'
import { sendCommand } from '../../commands/commands.ts'
import { parsePubkeyField } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { parseOfferTerms } from './offer-input.ts'
import { assertOwnsNode, readOfferResult } from './own-offer.ts'
import type { MarketOfferMutationsCreateArgs } from '../../generated/schema-types.ts'

export const createOffer = mutation({
  path: 'market.offer.create',
  access: accountHolder,
  input: ({ input }: MarketOfferMutationsCreateArgs) => ({
    pubkey: parsePubkeyField(input.pubkey),
    terms: parseOfferTerms(input),
  }),
  run: async ({ pubkey, terms }, { gateway, caller: { accountId } }) => {
    await assertOwnsNode(gateway, accountId, pubkey)
    const offerId = gateway.ids.uuid()
    await sendCommand(
      gateway,
      command<OfferTarget>('offer', offerId, { type: 'CreateOffer', data: { ...terms, accountId, pubkey } }),
    )
    return readOfferResult(gateway, offerId)
  },
})
