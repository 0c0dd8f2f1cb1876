import { setTimeout as sleep } from 'node:timers/promises'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { PaymentState } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { MACHINE_CLOCK } from './clock.ts'
import type { RegtestNode } from './node-role.ts'

export type RegtestPayment = { readonly state: 'IN_FLIGHT' | 'SUCCEEDED' | 'FAILED'; readonly payment_hash: string }
type Payers = { readonly nodes: readonly RegtestNode[] }

const MAX_FEE_MSAT = 100_000n
const PAY_TIMEOUT_MS = 90_000
/** A node that has just started answers before it has connected to its peers. */
const READY_TIMEOUT_MS = 15_000
/** A look-up without a result takes 3 s. */
const ANSWER_TIMEOUT_MS = 5000
const POLL_MS = 100
const STATES = { 'in-flight': 'IN_FLIGHT', succeeded: 'SUCCEEDED', failed: 'FAILED' } as const
/** If two nodes pay one invoice, the payment that arrived counts. */
const BEST_FIRST = ['succeeded', 'in-flight', 'failed'] as const

/**
 * Pays an invoice from a node. Only the payee knows that a payment is held, so its node is polled too.
 * @returns once the payment is held, paid or failed @throws Error after the timeout, although the payment may continue
 */
export async function payFromNode({ nodes }: Payers, payer: RegtestNode, invoice: string): Promise<RegtestPayment> {
  const request = decodePaymentRequest(invoice)
  if (!request) throw new Error('That is no BOLT 11 invoice.')
  const { paymentHash, payee } = request
  const holder = nodes.find(({ info }) => info.pubkey === payee)
  const end = performance.now() + PAY_TIMEOUT_MS
  await waitUntilPayable(payer)
  // A node that is restarting is polled again.
  const isHeld = async () => (await holder?.lightning.payments.findInvoice(paymentHash).catch(() => undefined))?.state === 'held'
  const isOnItsWay = async () => (await lookUpPayment(payer, paymentHash).catch(() => undefined))?.state === 'in-flight'
  const isPaidByOther = (await isHeld()) && !(await isOnItsWay())
  let ended: PaymentState | undefined
  let fault: Error | undefined
  payer.lightning.payments.pay(invoice, { maxFeeMsat: MAX_FEE_MSAT, timeoutMs: PAY_TIMEOUT_MS }).then(
    (state) => (ended = state),
    (error: unknown) => (fault = asError(error)),
  )
  for (; performance.now() < end; await sleep(POLL_MS)) {
    if (ended !== undefined && ended.state !== 'in-flight') return { state: STATES[ended.state], payment_hash: paymentHash }
    if (fault !== undefined) throw new Error(`${payer.alias} cannot pay now: ${fault.message}`)
    if (!isPaidByOther && (await isHeld()) && (await isOnItsWay())) return { state: 'IN_FLIGHT', payment_hash: paymentHash }
  }
  throw new Error(`The payment ${paymentHash} is in flight, and no node holds it after ${PAY_TIMEOUT_MS / 1000} s.`)
}

/** Waits for an active channel. A node that gets none in time reports the reason when it pays. */
async function waitUntilPayable({ lightning }: RegtestNode): Promise<void> {
  for (const end = performance.now() + READY_TIMEOUT_MS; performance.now() < end; await sleep(POLL_MS)) {
    const channels = await withTimeout(MACHINE_CLOCK, end - performance.now(), lightning.channels.list()).catch(() => [])
    if (channels.some(({ state }) => state === 'active')) return
  }
}

/** Reads a payment from the node that pays it. @throws Error if no node does, or if a node that may pay it does not answer */
export async function findRegtestPayment({ nodes }: Payers, paymentHash: string): Promise<RegtestPayment> {
  const answers = await Promise.allSettled(nodes.map((node) => lookUpPayment(node, paymentHash)))
  const found = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value?.state : undefined))
  const state = BEST_FIRST.find((one) => found.includes(one))
  if (state !== undefined) return { state: STATES[state], payment_hash: paymentHash }
  const silent = nodes.filter((_, index) => answers[index]?.status === 'rejected').map(({ alias }) => alias)
  if (silent.length === 0) throw new Error(`Nobody here pays ${paymentHash}.`)
  throw new Error(`No node that answered pays ${paymentHash}, and ${silent.join(', ')} did not answer; try again in a moment.`)
}

/** The result `in-flight` may also mean that the node does not answer. So after that result, the node has to answer `info`. */
async function lookUpPayment({ lightning }: RegtestNode, paymentHash: string): Promise<PaymentState | undefined> {
  const found = await withTimeout(MACHINE_CLOCK, ANSWER_TIMEOUT_MS, lightning.payments.find(paymentHash))
  if (found?.state === 'in-flight') await withTimeout(MACHINE_CLOCK, ANSWER_TIMEOUT_MS, lightning.info())
  return found
}

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))
