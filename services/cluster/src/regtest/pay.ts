import { setTimeout as sleep } from 'node:timers/promises'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { PaymentState } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'
import { CLOCK } from './clock.ts'
import type { Person } from './person.ts'

export type Payment = { readonly state: 'IN_FLIGHT' | 'SUCCEEDED' | 'FAILED'; readonly payment_hash: string }
type Payers = { readonly people: readonly Person[] }

const MAX_FEE_MSAT = 100_000n
const WITHIN_MS = 90_000
/** A node that was just started answers before it has found its peers. */
const READY_WITHIN_MS = 15_000
/** A look-up that says nothing takes 3 s. */
const ANSWER_MS = 5000
const LOOK_EVERY_MS = 100
const STATES = { 'in-flight': 'IN_FLIGHT', succeeded: 'SUCCEEDED', failed: 'FAILED' } as const
/** Of two people who pay one invoice, the one whose payment arrived counts. */
const BEST_FIRST = ['succeeded', 'in-flight', 'failed'] as const

/**
 * Pays from a person's node. Only the payee knows that a payment is held, so it is asked too.
 * @returns once it is held, paid or failed @throws Error where it is none of that in time; it may still go on
 */
export async function pay({ people }: Payers, payer: Person, invoice: string): Promise<Payment> {
  const request = decodePaymentRequest(invoice)
  if (!request) throw new Error('That is no BOLT 11 invoice.')
  const { paymentHash, payee } = request
  const holder = people.find(({ info }) => info.pubkey === payee)
  const end = performance.now() + WITHIN_MS
  await canPay(payer)
  // A node that is being started again is asked again.
  const isHeld = async () => (await holder?.lightning.payments.findInvoice(paymentHash).catch(() => undefined))?.state === 'held'
  const isOnItsWay = async () => (await standing(payer, paymentHash).catch(() => undefined))?.state === 'in-flight'
  const isAnothers = (await isHeld()) && !(await isOnItsWay())
  let ended: PaymentState | undefined
  let fault: Error | undefined
  payer.lightning.payments.pay(invoice, { maxFeeMsat: MAX_FEE_MSAT, timeoutMs: WITHIN_MS }).then(
    (state) => (ended = state),
    (error: unknown) => (fault = asError(error)),
  )
  for (; performance.now() < end; await sleep(LOOK_EVERY_MS)) {
    if (ended !== undefined && ended.state !== 'in-flight') return { state: STATES[ended.state], payment_hash: paymentHash }
    if (fault !== undefined) throw new Error(`${payer.alias} cannot pay now: ${fault.message}`)
    if (!isAnothers && (await isHeld()) && (await isOnItsWay())) return { state: 'IN_FLIGHT', payment_hash: paymentHash }
  }
  throw new Error(`The payment ${paymentHash} is under way, and after ${WITHIN_MS / 1000} s nobody holds it yet.`)
}

/** Waits a while for it; a node that does not come says itself why it cannot. */
async function canPay({ lightning }: Person): Promise<void> {
  for (const end = performance.now() + READY_WITHIN_MS; performance.now() < end; await sleep(LOOK_EVERY_MS)) {
    const channels = await within(CLOCK, end - performance.now(), lightning.channels.list()).catch(() => [])
    if (channels.some(({ state }) => state === 'active')) return
  }
}

/** How a payment stands at whoever pays it. @throws Error where nobody does, or somebody who may does not answer */
export async function paymentOf({ people }: Payers, paymentHash: string): Promise<Payment> {
  const answers = await Promise.allSettled(people.map((person) => standing(person, paymentHash)))
  const found = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value?.state : undefined))
  const state = BEST_FIRST.find((one) => found.includes(one))
  if (state !== undefined) return { state: STATES[state], payment_hash: paymentHash }
  const silent = people.filter((_, index) => answers[index]?.status === 'rejected').map(({ alias }) => alias)
  if (silent.length === 0) throw new Error(`Nobody here pays ${paymentHash}.`)
  throw new Error(`Nobody who answers pays ${paymentHash}, and ${silent.join(', ')} cannot be asked now: ask again in a moment.`)
}

/** A node that says nothing at all looks as if the payment were on its way: then it has to answer something else. */
async function standing({ lightning }: Person, paymentHash: string): Promise<PaymentState | undefined> {
  const found = await within(CLOCK, ANSWER_MS, lightning.payments.find(paymentHash))
  if (found?.state === 'in-flight') await within(CLOCK, ANSWER_MS, lightning.info())
  return found
}

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))
