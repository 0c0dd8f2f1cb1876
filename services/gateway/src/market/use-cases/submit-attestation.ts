import { command } from '@penstock/kernel/process.ts'
import type { SellerTarget } from '@penstock/contracts/matching.ts'
import { accountHolder } from '../../access.ts'
import { sendCommand } from '../../commands/commands.ts'
import { parseAmountField, parsePubkeyField, parseTextField, parseTimeField } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { assertOwnsNode } from './own-offer.ts'
import type { MarketOfferMutationsAttestArgs } from '../../generated/schema-types.ts'

/** Submits an agent's heartbeat and proof of funds. The signature covers `at` in whole milliseconds. */
export const submitAttestation = mutation({
  path: 'market.offer.attest',
  access: accountHolder,
  input: ({ input }: MarketOfferMutationsAttestArgs) => ({
    pubkey: parsePubkeyField(input.pubkey),
    confirmedSat: `${parseAmountField(input.confirmed_sats, 'confirmed_sats')}`,
    at: /^\d{13}$/.test(input.at) ? Number(input.at) : parseTimeField(input.at, 'at'),
    signature: parseTextField(input.signature, 'signature', 1, 256),
  }),
  run: async (attestation, { gateway, caller: { accountId } }) => {
    const { pubkey } = attestation
    await assertOwnsNode(gateway, accountId, pubkey)
    await sendCommand(gateway, command<SellerTarget>('seller', pubkey, { type: 'Attest', data: { accountId, ...attestation } }), {
      isValidLate: true,
    })
    return { id: pubkey, success: true }
  },
})
