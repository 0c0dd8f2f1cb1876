import { offer, seller } from '@penstock/contracts/matching.ts'
import { SECOND_MS } from '@penstock/kernel/time.ts'
import { ask } from '@penstock/runtime/service.ts'
import { type Caller, accountHolder } from '../callers.ts'
import { accepted } from '../commands/answers.ts'
import { invalid, offerNotFound } from '../errors.ts'
import { amountOf, idOf, pubkeyOf, textOf, timeOf } from '../input.ts'
import type { Gateway } from '../ports.ts'
import { nodeOf } from '../read/accounts.ts'
import { offerById } from '../read/offers.ts'
import { type OfferInput, type UpdateOfferInput, changesOf, termsOf } from './offer-input.ts'

/** When a command's caller is answered at the latest. */
/** By the monotonic clock. */
export const answerBy = ({ clock, config }: Pick<Gateway, 'clock' | 'config'>): number =>
  clock.monotonicMs() + config.buyAnswerSeconds * SECOND_MS

export async function createOffer(gateway: Gateway, caller: Caller | null, input: OfferInput) {
  const { accountId } = accountHolder(caller)
  const pubkey = pubkeyOf(input.pubkey)
  const terms = termsOf(input)
  await mustOwnNode(gateway, accountId, pubkey)
  const offerId = gateway.ids.uuid()
  accepted(
    await gateway.commands.ask(ask(offer, offerId, 'CreateOffer', { ...terms, accountId, pubkey }), { until: answerBy(gateway) }),
  )
  return { id: offerId, offer_id: offerId }
}

export async function updateOffer(gateway: Gateway, caller: Caller | null, input: UpdateOfferInput) {
  const { accountId } = accountHolder(caller)
  const offerId = await ownOffer(gateway, accountId, input.offer_id)
  const command = ask(offer, offerId, 'UpdateOffer', { ...changesOf(input), by: accountId })
  accepted(await gateway.commands.ask(command, { until: answerBy(gateway) }))
  return { id: offerId, offer_id: offerId }
}

export async function toggleOffer(gateway: Gateway, caller: Caller | null, input: { readonly offer_id: string }) {
  const { accountId } = accountHolder(caller)
  const offerId = await ownOffer(gateway, accountId, input.offer_id)
  accepted(await gateway.commands.ask(ask(offer, offerId, 'ToggleOffer', { by: accountId }), { until: answerBy(gateway) }))
  return { id: offerId, offer_id: offerId }
}

export type AttestInput = {
  readonly pubkey: string
  readonly confirmed_sats: string
  readonly at: string
  readonly signature: string
}

/** An agent's heartbeat and proof of funds. The signature covers `at` as it was sent, so it is a time in whole milliseconds. */
export async function attest(gateway: Gateway, caller: Caller | null, input: AttestInput) {
  const { accountId } = accountHolder(caller)
  const pubkey = pubkeyOf(input.pubkey)
  const data = {
    accountId,
    pubkey,
    confirmedSat: `${amountOf(input.confirmed_sats, 'confirmed_sats')}`,
    at: /^\d{13}$/.test(input.at) ? Number(input.at) : timeOf(input.at, 'at'),
    signature: textOf(input.signature, 'signature', 1, 256),
  }
  await mustOwnNode(gateway, accountId, pubkey)
  accepted(await gateway.commands.ask(ask(seller, pubkey, 'Attest', data), { until: answerBy(gateway) }))
  return { id: pubkey, success: true }
}

async function mustOwnNode(gateway: Gateway, accountId: string, pubkey: string): Promise<void> {
  const node = await nodeOf(gateway.views, accountId, pubkey)
  if (node?.state !== 'connected') throw invalid('Prove this node first: account.node.challenge, then account.node.connect.')
}

/** Somebody else's offer is changed by nobody but its owner; that it exists is public. */
async function ownOffer(gateway: Gateway, accountId: string, offerId: string): Promise<string> {
  const found = await offerById(gateway.views, idOf(offerId))
  if (found?.offer.accountId !== accountId) throw offerNotFound()
  return found.offer.id
}
