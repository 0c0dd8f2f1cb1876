import { assert } from '@penstock/kernel/result.ts'
import { invalidInput, offerNotFound } from '../../errors.ts'
import type { Gateway } from '../../ports.ts'
import { findAccountNode } from '../../account/read/accounts.ts'
import { findOffer } from '../read/offers.ts'

export async function assertOwnsNode({ views }: Gateway, accountId: string, pubkey: string): Promise<void> {
  const node = await findAccountNode(views, accountId, pubkey)
  if (node?.state !== 'connected') throw invalidInput('Prove this node first: account.node.challenge, then account.node.connect.')
}

/** @throws the error for an unknown offer unless the account owns the offer */
export async function assertOwnsOffer({ views }: Gateway, accountId: string, offerId: string): Promise<void> {
  if ((await findOffer(views, offerId))?.offer.accountId !== accountId) throw offerNotFound()
}

/** Returns the answer to a mutation of an offer. */
export async function readOfferResult({ views }: Gateway, offerId: string) {
  const found = await findOffer(views, offerId)
  assert(found, `offer ${offerId} was changed and is not in the read model`)
  return { id: offerId, offer_id: offerId, success: true, status: found.offer.status }
}
