import { formatChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { validateFundingOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { satToMsat } from '@penstock/kernel/money.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { HOUR_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import { MarketRefusal } from './api.ts'
import { type AgentContext, recordStep } from './context.ts'
import { closeUnpaidChannels, isLossOpen, mayClose } from './close-unpaid-channels.ts'
import type { OrderSummary } from './market-client.ts'
import { prepareChannel, reconcile } from './opening.ts'
import {
  type Action,
  fundingOf,
  isLostStatus,
  isFundingSeenStatus,
  isSoldStatus,
  payableHashesOf,
  type SaleState,
} from './sale.ts'

export const actionEffects: Readonly<Record<Action, (context: AgentContext, sale: SaleState) => Promise<void>>> = {
  reconcile,
  name: submitOutpoint,
  publish: publishFunding,
  invoice: giveInvoice,
  open: prepareChannel,
  cancel: cancelUnreachableSale,
  watch: watchSale,
}

/** The market requires an invoice that can be paid for more than 48 hours. */
const INVOICE_SECONDS = (72 * HOUR_MS) / SECOND_MS

/** Submits a payout invoice. Without an answer, the same invoice is submitted again, because the market could pay two. */
async function giveInvoice(context: AgentContext, sale: SaleState): Promise<void> {
  const { request, paymentHash } = sale.pendingInvoice ?? (await makeInvoice(context, sale))
  try {
    await context.market.accept(sale.orderId, request)
    recordStep(context, sale, { type: 'InvoiceGiven', paymentHash })
  } catch (error) {
    if (!(error instanceof MarketRefusal)) throw error
    recordStep(context, sale, { type: 'InvoiceRefused', reason: error.message })
  }
}

async function makeInvoice(context: AgentContext, sale: SaleState) {
  const amountMsat = satToMsat(BigInt(sale.terms.sellerSat))
  const description = `channel of ${sale.terms.sizeSat} sat, order ${sale.orderId}`
  const { request, paymentHash } = await context.lightning.payments.createInvoice({
    amountMsat,
    expirySeconds: INVOICE_SECONDS,
    description,
  })
  recordStep(context, sale, { type: 'InvoiceMade', paymentHash, request })
  return { request, paymentHash }
}

/** Submits the funding outpoint. The market's acknowledgement is the permit to publish. */
async function submitOutpoint(context: AgentContext, sale: SaleState): Promise<void> {
  const { outpoint } = fundingOf(sale)
  const capacitySat = BigInt(sale.terms.sizeSat)
  const channel = (await context.lightning.channels.list()).find((one) => one.outpoint === outpoint)
  if (!channel)
    return void recordStep(context, sale, { type: 'SetBack', reason: 'the node no longer knows the funding that it prepared' })
  const fault = validateFundingOutpoint(outpoint)
  if (fault !== undefined) return abandonFunding(context, sale, fault)
  // The attestation states this capacity and this peer, so the node's own data are compared before the node signs it.
  if (channel.capacitySat !== capacitySat || channel.peer !== sale.terms.peer)
    return abandonFunding(context, sale, 'the node prepared another channel')
  const attestation = {
    outpoint,
    capacitySat,
    nodeKeys: [context.pubkey, sale.terms.peer] as const,
    channelType: channel.channelType,
    pushSat: 0n,
    reserveSat: channel.reserveSat,
  }
  const signature = await context.lightning.messages.sign(formatChannelAttestation(attestation))
  try {
    const publishUntil = await context.market.submitOutpoint(sale.orderId, { ...attestation, signature })
    recordStep(context, sale, { type: 'Named', isWithheld: true, ...(publishUntil !== undefined && { publishUntil }) })
  } catch (error) {
    if (!(error instanceof MarketRefusal)) throw error
    await abandonFunding(context, sale, `the market refused the funding: ${error.message}`)
  }
}

/**
 * Cancels the sale at the market, because a longer wait would only keep the buyer's payment held. The market checks which node
 * is offline, and continues without this seller.
 */
async function cancelUnreachableSale(context: AgentContext, sale: SaleState): Promise<void> {
  try {
    await context.market.cancelUnreachable(sale.orderId)
    recordStep(context, sale, { type: 'CancelAsked' })
  } catch (error) {
    if (!(error instanceof MarketRefusal)) throw error
    recordStep(context, sale, { type: 'SetBack', reason: `the market refused the cancellation: ${error.message}` })
  }
}

async function publishFunding(context: AgentContext, sale: SaleState): Promise<void> {
  // Hours may have passed since the permit, and an order that has ended pays for no channel.
  const order = await context.market.findOrder(sale.orderId)
  const status = order?.status
  if (isLostStatus(status)) {
    if (sale.opening.state === 'publishing') return endLostSale(context, sale, order)
    return abandonFunding(context, sale, `the order ended as ${status ?? 'unknown'} before its funding was published`)
  }
  // The funding is not abandoned, because the hold may still be settled, and the seller then owes the channel.
  if (order?.closing !== undefined) throw new Fault(`the funding waits because the order is closing: ${order.closing}`)
  const { height } = await context.lightning.info()
  if (isTooLate(sale, order, height)) {
    const reason = `the last height at which its funding may be published has passed, and the chain is at ${height}`
    if (sale.opening.state === 'named') return abandonFunding(context, sale, reason)
    // The funding may be published already. If the market does not see it, the order ends.
    throw new Fault(reason)
  }
  if (sale.opening.state === 'named') recordStep(context, sale, { type: 'PublishBegun' })
  await context.lightning.channels.publish(fundingOf(sale))
  recordStep(context, sale, { type: 'Published', height })
}

/** Whether the permit's last height has passed. A funding that the market has seen was published in time. */
function isTooLate(sale: SaleState, order: OrderSummary | undefined, height: number): boolean {
  const until = fundingOf(sale).publishUntil ?? order?.publishUntil
  return until !== undefined && height > until && !isFundingSeenStatus(order?.status) && !isSoldStatus(order?.status)
}

async function watchSale(context: AgentContext, sale: SaleState): Promise<void> {
  const { opening, isChannelSold, orderId } = sale
  const order = isChannelSold ? undefined : await context.market.findOrder(orderId)
  if (!isChannelSold) {
    const status = order?.status
    if (isSoldStatus(status))
      return void recordStep(
        context,
        sale,
        opening.state === 'published' ? { type: 'Sold' } : { type: 'Ended', how: 'sold by another' },
      )
    if (isLostStatus(status)) return endLostSale(context, sale, order)
    // The order is closing, so a higher fee for its funding would probably be wasted.
    if (order?.closing !== undefined) return
  }
  if (isChannelSold && (await isPaid(context, sale))) return void recordStep(context, sale, { type: 'Ended', how: 'paid' })
  if (opening.state !== 'published' || sale.channelEnd) return
  if (!isChannelSold && !isTooLate(sale, order, (await context.lightning.info()).height)) await republishFunding(context, sale)
  await raiseFee(context, sale)
}

/** Checks all payable invoices, because the market may pay an earlier invoice although it requested another. */
async function isPaid({ lightning }: AgentContext, sale: SaleState): Promise<boolean> {
  for (const hash of payableHashesOf(sale).toReversed())
    if ((await lightning.payments.findInvoice(hash))?.state === 'settled') return true
  return false
}

/** Publishes the funding again, because the wallet forgets a transaction that its mempool rejects. */
async function republishFunding(context: AgentContext, sale: SaleState): Promise<void> {
  try {
    await context.lightning.channels.publish(fundingOf(sale))
  } catch (error) {
    context.log.warn({ order: sale.orderId, reason: String(error) }, 'publishing a funding again failed')
  }
}

/**
 * Ends the sale of a failed order. A published funding is never abandoned, because another mempool may still contain it. If it
 * confirmed after the node had forgotten the channel, its coins would be lost. Instead, its channel is closed once it is open.
 */
async function endLostSale(context: AgentContext, sale: SaleState, order: OrderSummary | undefined): Promise<void> {
  const { opening, orderId } = sale
  const status = order?.status ?? 'unknown to the market'
  if (opening.state === 'publishing' || opening.state === 'published') {
    const { outpoint } = opening
    if (isLossOpen(order)) return awaitOperatorLoss(context, sale, order)
    const isToClose = mayClose(order)
    const outcomeText = isToClose ? 'closing its channel' : 'its channel stays open'
    context.log.warn({ order: orderId, status, outpoint }, `an order failed whose funding may be published; ${outcomeText}`)
    if (isToClose) recordStep(context, sale, { type: 'CloseWanted', outpoint })
  }
  recordStep(context, sale, { type: 'Ended', how: status })
  await closeUnpaidChannels(context)
}

/** Keeps the sale until the operator has paid for it. If the market needs another invoice, it lists the sale again. */
async function awaitOperatorLoss(context: AgentContext, sale: SaleState, order: OrderSummary | undefined): Promise<void> {
  if (await isPaid(context, sale)) return void recordStep(context, sale, { type: 'Ended', how: 'paid by the operator' })
  // The channel was proven, so its funding is published already.
  if (order?.operatorLoss === 'BORNE' && sale.opening.state === 'publishing')
    recordStep(context, sale, { type: 'Published', height: (await context.lightning.info()).height })
}

/** Abandons a funding that was never published. */
async function abandonFunding(context: AgentContext, sale: SaleState, reason: string): Promise<void> {
  const outcome = await context.lightning.channels.abandon(fundingOf(sale))
  if (outcome === 'abandoned') return void recordStep(context, sale, { type: 'SetBack', reason })
  context.log.warn({ order: sale.orderId, reason }, 'the funding is published and cannot be abandoned')
  recordStep(context, sale, { type: 'Ended', how: `${reason}; its funding is published` })
}

/** Raises the fee by child pays for parent, because a funding with a submitted outpoint is never replaced. */
async function raiseFee(context: AgentContext, sale: SaleState): Promise<void> {
  const { opening, orderId } = sale
  if (opening.state !== 'published' || opening.feeRate >= context.fees.maxRate) return
  const { height } = await context.lightning.info()
  if (height - opening.feeHeight < context.fees.raiseAfterBlocks) return
  const channel = (await context.lightning.channels.list()).find(({ outpoint }) => outpoint === opening.outpoint)
  if (channel?.state !== 'pending' || channel.shortChannelId !== null) return
  // Without an estimate the rate is raised by half.
  const estimate = (await context.feeRate?.(2).catch(() => 0)) ?? 0
  const feeRate = Math.min(context.fees.maxRate, Math.max(opening.feeRate * 1.5, estimate))
  try {
    await context.lightning.channels.bumpFee(opening.outpoint, feeRate, context.fees.maxRate)
  } catch (error) {
    context.log.warn({ order: orderId, reason: String(error) }, 'raising the fee of a funding failed')
  }
  // The step is recorded after a failure too, so that the next try waits for `raiseAfterBlocks`.
  recordStep(context, sale, { type: 'FeeRaised', height, feeRate })
}
