import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { fundingOutpointFault, normaliseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { type CancellationReason, order } from '@penstock/contracts/order.ts'
import type { Attestation } from '@penstock/contracts/shapes.ts'
import { ask, type Ask } from '@penstock/runtime/service.ts'
import { type Caller, accountHolder, someone } from '../callers.ts'
import { accepted, inTime } from '../commands/answers.ts'
import { invalid, orderNotFound, orderUnread } from '../errors.ts'
import { amountOf, idOf, pubkeyOf, textOf } from '../input.ts'
import type { Gateway } from '../ports.ts'
import { missing } from '../read/missing.ts'
import { orderById } from '../read/orders.ts'
import { orderForAccount } from '../read/sales.ts'
import { broadcastUntilHeight, type Judged, type OrderView } from '../views/order-view.ts'
import { keepText } from './buy.ts'
import { giveLossInvoice, owedForLoss } from './loss-invoice.ts'
import { answerBy } from './offers.ts'

export type AcceptInput = { readonly order_id: string; readonly request: string }

/** The seller agrees, or gives another payout invoice: it is answered when settlement has taken or refused the invoice. */
export async function acceptOrder(gateway: Gateway, caller: Caller | null, input: AcceptInput) {
  const { accountId } = accountHolder(caller)
  const orderId = await takingPart(gateway, accountId, input.order_id)
  const request = textOf(input.request, 'request', 1, 4096)
  const invoice = decodePaymentRequest(request)
  if (!invoice) throw invalid('request must be a BOLT11 invoice')
  const until = answerBy(gateway)
  const owed = owedForLoss(accountId, await orderById(gateway.views, orderId))
  if (owed) {
    await giveLossInvoice(gateway, orderId, owed, { ...invoice, request }, until)
    return { id: orderId, success: true }
  }
  await carryOut(gateway, ask(order, orderId, 'Accept', { by: accountId, request }), until)
  const verdict = await judgement(gateway, orderId, ({ payoutInvoices }) => payoutInvoices[invoice.paymentHash], until)
  // Taken down for good; what settlement makes of it shows in the seller's own list.
  if (verdict?.state === 'refused') throw invalid(verdict.reason ?? 'The invoice was refused')
  return { id: orderId, success: true }
}

export async function rejectOrder(
  gateway: Gateway,
  caller: Caller | null,
  input: { readonly order_id: string; readonly reason?: string | null },
) {
  const { accountId } = accountHolder(caller)
  const orderId = await takingPart(gateway, accountId, input.order_id)
  const reason = input.reason ? textOf(input.reason, 'reason', 1, 200) : null
  const record = reason === null ? null : await keepText(gateway, 'reject-reason', { reason })
  const answer = await gateway.commands.ask(ask(order, orderId, 'Reject', { by: accountId, record }), {
    until: answerBy(gateway),
  })
  // Refused, or rejected before with other words: nothing speaks of these. Without an answer they may still be needed.
  const isKept = (await orderById(gateway.views, orderId))?.order.rejection?.id === record?.id
  if (record && !isKept && answer.outcome !== 'unanswered') await gateway.records.delete(record.id)
  accepted(answer)
  return { id: orderId, success: true }
}

export type AttestationInput = {
  readonly capacity: string
  readonly node_keys: readonly string[]
  readonly funding_keys?: readonly string[] | null
  readonly channel_type: string
  readonly push_sats: string
  readonly reserve_sats: string
  readonly signature: string
}
export type AddTransactionInput = {
  readonly order_id: string
  readonly transaction: string
  readonly attestation?: AttestationInput | null
}

/** The seller names its funding. Success means that settlement has it, so that the transaction may be published. */
export async function addTransaction(gateway: Gateway, caller: Caller | null, input: AddTransactionInput) {
  const { accountId } = accountHolder(caller)
  const fault = fundingOutpointFault(input.transaction)
  if (fault !== undefined) throw invalid(fault)
  const outpoint = normaliseOutpoint(input.transaction) ?? input.transaction
  const attestation = input.attestation ? attestationOf(outpoint, input.attestation) : null
  const orderId = await takingPart(gateway, accountId, input.order_id)
  const until = answerBy(gateway)
  await carryOut(gateway, ask(order, orderId, 'NameOutpoint', { by: accountId, outpoint, attestation }), until)
  const verdict = inTime(await judgement(gateway, orderId, ({ outpoints }) => outpoints[outpoint], until))
  if (verdict.state === 'refused') throw invalid(verdict.reason ?? 'The transaction was refused')
  const named = await orderById(gateway.views, orderId)
  const broadcast_until_height = named ? broadcastUntilHeight(named.order, verdict.attempt) : null
  return { id: orderId, success: true, broadcast_until_height }
}

function attestationOf(outpoint: string, input: AttestationInput): Attestation {
  const signature = textOf(input.signature, 'attestation.signature', 1, 256)
  return {
    outpoint,
    capacitySat: `${amountOf(input.capacity, 'attestation.capacity', { min: 1n })}`,
    nodeKeys: pairOf(input.node_keys, 'attestation.node_keys'),
    ...(input.funding_keys && { fundingKeys: pairOf(input.funding_keys, 'attestation.funding_keys') }),
    channelType: textOf(input.channel_type, 'attestation.channel_type', 0, 64),
    pushSat: `${amountOf(input.push_sats, 'attestation.push_sats')}`,
    reserveSat: `${amountOf(input.reserve_sats, 'attestation.reserve_sats')}`,
    signature,
  }
}

function pairOf(keys: readonly string[], field: string): [string, string] {
  const [one, other, ...more] = keys.map((key) => pubkeyOf(key, field))
  if (one === undefined || other === undefined || more.length > 0) throw invalid(`${field} must be two public keys`)
  return [one, other]
}

/** The buyer takes the order back before it pays; a seller gives up its attempt. */
export async function cancelOrder(
  gateway: Gateway,
  caller: Caller | null,
  input: { readonly order_id: string; readonly cancellation_reason?: CancellationReason | null },
) {
  const { accountId, orderId: only } = someone(caller)
  if (only !== null && only !== idOf(input.order_id)) throw orderNotFound()
  const orderId = await takingPart(gateway, accountId, input.order_id)
  const reason = input.cancellation_reason ?? 'No reason was given.'
  // The key of one order is its buyer's: it takes the order back, and never gives up a turn of the same account's as a seller.
  const wish =
    only === null ? ask(order, orderId, 'Cancel', { by: accountId, reason }) : ask(order, orderId, 'Withdraw', { reason })
  await carryOut(gateway, wish, answerBy(gateway))
  return { id: orderId, success: true }
}

/** @returns the order's id if the account takes part in it @throws that there is no such order, whoever else has it */
async function takingPart(gateway: Gateway, accountId: string, text: string): Promise<string> {
  const orderId = idOf(text)
  if (!(await orderForAccount(gateway.views, accountId, orderId))) throw await missing(gateway.views, orderId)
  return orderId
}

const carryOut = async (gateway: Gateway, command: Ask, until: number): Promise<void> => {
  accepted(await gateway.commands.ask(command, { until }))
}

/** What became of something that the order passed on to be judged; undefined where that takes too long. */
async function judgement(
  gateway: Gateway,
  orderId: string,
  of: (view: OrderView) => Judged | undefined,
  until: number,
): Promise<Judged | undefined> {
  const judged = async (): Promise<Judged | undefined> => {
    const stored = await orderById(gateway.views, orderId)
    if (!stored) throw orderUnread()
    const found = of(stored.order)
    return found && found.state !== 'offered' ? found : undefined
  }
  return gateway.waits.wait(judged, [orderId], until)
}
