import { setTimeout as sleep } from 'node:timers/promises'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { PaymentState } from '@penstock/ports/lightning.ts'
import type { Network } from './network.ts'
import type { Person } from './person.ts'

export type Payment = { readonly state: 'IN_FLIGHT' | 'SUCCEEDED' | 'FAILED'; readonly payment_hash: string }

const MAX_FEE_MSAT = 100_000n
const WITHIN_MS = 90_000
const LOOK_EVERY_MS = 100
const STATES = { 'in-flight': 'IN_FLIGHT', succeeded: 'SUCCEEDED', failed: 'FAILED' } as const

/**
 * Pays from a person's node. Only the payee knows that a payment is held, so it is asked too.
 * @returns once it is held, paid or failed @throws Error where it is none of that in time; it may still go on
 */
export async function pay(network: Network, payer: Person, invoice: string): Promise<Payment> {
  const request = decodePaymentRequest(invoice)
  if (!request) throw new Error('That is no BOLT 11 invoice.')
  const { paymentHash, payee } = request
  let ended: PaymentState | undefined
  let fault: Error | undefined
  payer.lightning.payments.pay(invoice, { maxFeeMsat: MAX_FEE_MSAT, timeoutMs: WITHIN_MS }).then(
    (state) => (ended = state),
    (error: unknown) => (fault = asError(error)),
  )
  const holder = network.people.find(({ info }) => info.pubkey === payee)
  for (const end = Date.now() + WITHIN_MS; Date.now() < end; await sleep(LOOK_EVERY_MS)) {
    if (ended !== undefined && ended.state !== 'in-flight') return { state: STATES[ended.state], payment_hash: paymentHash }
    if (fault !== undefined) throw new Error(`${payer.alias} cannot pay now: ${fault.message}`)
    // A node that is being started again is asked again.
    const held = await holder?.lightning.payments.findInvoice(paymentHash).catch(() => undefined)
    if (held?.state === 'held') return { state: 'IN_FLIGHT', payment_hash: paymentHash }
  }
  throw new Error(`The payment ${paymentHash} is under way, and after ${WITHIN_MS / 1000} s nobody holds it yet.`)
}

/** How a payment stands at whoever pays it. @throws Error where nobody does, or somebody who may does not answer */
export async function paymentOf(network: Network, paymentHash: string): Promise<Payment> {
  let silent: Error | undefined
  for (const { lightning } of network.people) {
    const found = await lightning.payments.find(paymentHash).catch((error: unknown) => {
      silent = asError(error)
    })
    if (found) return { state: STATES[found.state], payment_hash: paymentHash }
  }
  throw new Error(silent === undefined ? `Nobody here pays ${paymentHash}.` : `A node does not answer now: ${silent.message}`)
}

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))
