import { attestationText } from '@penstock/bitcoin/attestation.ts'
import { fundingOutpointFault } from '@penstock/bitcoin/outpoint.ts'
import { satToMsat } from '@penstock/kernel/money.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { HOUR_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import { MarketRefusal } from './api.ts'
import { type Desk, record } from './desk.ts'
import { closeUnpaid, isLossOpen, mayClose } from './close-unpaid.ts'
import type { Standing } from './market.ts'
import { open, reconcile } from './opening.ts'
import { type Act, funding, isLost, isSeen, isSold, payableHashes, type Sale } from './sale.ts'

export const acts: Readonly<Record<Act, (desk: Desk, sale: Sale) => Promise<void>>> = {
  reconcile,
  name,
  publish,
  invoice,
  open,
  cancel,
  watch,
}

/** The market wants an invoice that can be paid for more than 48 hours. */
const INVOICE_SECONDS = (72 * HOUR_MS) / SECOND_MS

/** One whose giving was not answered is given again, which the market answers alike: a new one could leave both to be paid. */
async function invoice(desk: Desk, sale: Sale): Promise<void> {
  const { request, paymentHash } = sale.made ?? (await makeInvoice(desk, sale))
  try {
    await desk.market.accept(sale.orderId, request)
    record(desk, sale, { type: 'InvoiceGiven', paymentHash })
  } catch (error) {
    if (!(error instanceof MarketRefusal)) throw error
    record(desk, sale, { type: 'InvoiceRefused', reason: error.message })
  }
}

async function makeInvoice(desk: Desk, sale: Sale) {
  const amountMsat = satToMsat(BigInt(sale.terms.sellerSat))
  const description = `channel of ${sale.terms.sizeSat} sat, order ${sale.orderId}`
  const { request, paymentHash } = await desk.lightning.payments.createInvoice({
    amountMsat,
    expirySeconds: INVOICE_SECONDS,
    description,
  })
  record(desk, sale, { type: 'InvoiceMade', paymentHash, request })
  return { request, paymentHash }
}

/** The market's acknowledgement is the permit to publish, and its record of the outpoint. */
async function name(desk: Desk, sale: Sale): Promise<void> {
  const { outpoint } = funding(sale)
  const capacitySat = BigInt(sale.terms.sizeSat)
  const channel = (await desk.lightning.channels.list()).find((one) => one.outpoint === outpoint)
  if (!channel)
    return void record(desk, sale, { type: 'SetBack', reason: 'the node no longer knows the funding that it prepared' })
  const fault = fundingOutpointFault(outpoint)
  if (fault !== undefined) return giveUp(desk, sale, fault)
  // Signed for with the node's key, so the node's own word is compared first.
  if (channel.capacitySat !== capacitySat || channel.peer !== sale.terms.peer)
    return giveUp(desk, sale, 'the node prepared another channel')
  const attestation = {
    outpoint,
    capacitySat,
    nodeKeys: [desk.pubkey, sale.terms.peer] as const,
    channelType: channel.channelType,
    pushSat: 0n,
    reserveSat: channel.reserveSat,
  }
  const signature = await desk.lightning.messages.sign(attestationText(attestation))
  try {
    const publishUntil = await desk.market.nameFunding(sale.orderId, { ...attestation, signature })
    record(desk, sale, { type: 'Named', isWithheld: true, ...(publishUntil !== undefined && { publishUntil }) })
  } catch (error) {
    if (!(error instanceof MarketRefusal)) throw error
    await giveUp(desk, sale, `the market refused the funding: ${error.message}`)
  }
}

/** Whoever waits longer holds the buyer's money: the market finds out whose node is away, and goes on without this seller. */
async function cancel(desk: Desk, sale: Sale): Promise<void> {
  try {
    await desk.market.cancelUnreachable(sale.orderId)
    record(desk, sale, { type: 'CancelAsked' })
  } catch (error) {
    if (!(error instanceof MarketRefusal)) throw error
    record(desk, sale, { type: 'SetBack', reason: `the market did not take the cancellation: ${error.message}` })
  }
}

async function publish(desk: Desk, sale: Sale): Promise<void> {
  // Hours may lie between the permit and this moment: nobody pays for the channel of an order that has ended.
  const standing = await desk.market.standing(sale.orderId)
  const status = standing?.status
  if (isLost(status)) {
    if (sale.opening.state === 'publishing') return endLost(desk, sale, standing)
    return giveUp(desk, sale, `the order ended as ${status ?? 'unknown'} before its funding was published`)
  }
  // Not given up either: the payment may still be taken, and then the channel is owed.
  if (standing?.closing !== undefined) throw new Fault(`its funding waits, since the order is being closed: ${standing.closing}`)
  const { height } = await desk.lightning.info()
  if (isTooLate(sale, standing, height)) {
    const reason = `the last height at which its funding may be published has passed, and the chain is at ${height}`
    if (sale.opening.state === 'named') return giveUp(desk, sale, reason)
    // It may be out already: then the market sees it, and else the order ends.
    throw new Fault(reason)
  }
  if (sale.opening.state === 'named') record(desk, sale, { type: 'PublishBegun' })
  await desk.lightning.channels.publish(funding(sale))
  record(desk, sale, { type: 'Published', height })
}

/** However long the permit was on its way. What the market has seen was published in time. */
function isTooLate(sale: Sale, standing: Standing | undefined, height: number): boolean {
  const until = funding(sale).publishUntil ?? standing?.publishUntil
  return until !== undefined && height > until && !isSeen(standing?.status) && !isSold(standing?.status)
}

async function watch(desk: Desk, sale: Sale): Promise<void> {
  const { opening, sold, orderId } = sale
  const standing = sold ? undefined : await desk.market.standing(orderId)
  if (!sold) {
    const status = standing?.status
    if (isSold(status))
      return void record(desk, sale, opening.state === 'published' ? { type: 'Sold' } : { type: 'Ended', how: 'sold by another' })
    if (isLost(status)) return endLost(desk, sale, standing)
    // What keeps the funding alive would be spent for nothing.
    if (standing?.closing !== undefined) return
  }
  if (sold && (await isPaid(desk, sale))) return void record(desk, sale, { type: 'Ended', how: 'paid' })
  if (opening.state !== 'published' || sale.closed) return
  if (!sold && !isTooLate(sale, standing, (await desk.lightning.info()).height)) await publishAgain(desk, sale)
  await raiseFee(desk, sale)
}

/** An invoice that was asked for again replaces the one before only where that one was not being paid already. */
async function isPaid({ lightning }: Desk, sale: Sale): Promise<boolean> {
  for (const hash of payableHashes(sale).toReversed())
    if ((await lightning.payments.findInvoice(hash))?.state === 'settled') return true
  return false
}

/** A wallet forgets its transaction where a mempool rejects it, and then nobody else sends it again. */
async function publishAgain(desk: Desk, sale: Sale): Promise<void> {
  try {
    await desk.lightning.channels.publish(funding(sale))
  } catch (error) {
    desk.log.warn({ order: sale.orderId, reason: String(error) }, 'a funding cannot be published again')
  }
}

/**
 * A funding that was handed out is never given up: that the node does not know it any more says nothing about the mempools
 * of others, and if it confirmed without its channel all of its coins would be lost. Its channel is closed once it is open.
 */
async function endLost(desk: Desk, sale: Sale, standing: Standing | undefined): Promise<void> {
  const { opening, orderId } = sale
  const status = standing?.status ?? 'unknown to the market'
  if (opening.state === 'publishing' || opening.state === 'published') {
    const { outpoint } = opening
    if (isLossOpen(standing)) return awaitLoss(desk, sale, standing)
    const isToClose = mayClose(standing)
    const what = isToClose ? 'its channel is closed' : 'its channel stays'
    desk.log.warn({ order: orderId, status, outpoint }, `an order ended whose funding is out: ${what}`)
    if (isToClose) record(desk, sale, { type: 'CloseWanted', outpoint })
  }
  record(desk, sale, { type: 'Ended', how: status })
  await closeUnpaid(desk)
}

/** The market asks for another invoice where it needs one: the sale is listed again. */
async function awaitLoss(desk: Desk, sale: Sale, standing: Standing | undefined): Promise<void> {
  if (await isPaid(desk, sale)) return void record(desk, sale, { type: 'Ended', how: 'paid by the operator' })
  // It was proven, so its funding is out: nothing is left to publish.
  if (standing?.operatorLoss === 'BORNE' && sale.opening.state === 'publishing')
    record(desk, sale, { type: 'Published', height: (await desk.lightning.info()).height })
}

/** Only what was never handed to the network. */
async function giveUp(desk: Desk, sale: Sale, reason: string): Promise<void> {
  const outcome = await desk.lightning.channels.abandon(funding(sale))
  if (outcome === 'abandoned') return void record(desk, sale, { type: 'SetBack', reason })
  desk.log.warn({ order: sale.orderId, reason }, 'the funding is published and cannot be given up')
  record(desk, sale, { type: 'Ended', how: `${reason}; its funding is published` })
}

/** Child pays for parent: the outpoint was named, so the funding itself is never replaced. */
async function raiseFee(desk: Desk, sale: Sale): Promise<void> {
  const { opening, orderId } = sale
  if (opening.state !== 'published' || opening.feeRate >= desk.fees.maxRate) return
  const { height } = await desk.lightning.info()
  if (height - opening.feeHeight < desk.fees.raiseAfterBlocks) return
  const channel = (await desk.lightning.channels.list()).find(({ outpoint }) => outpoint === opening.outpoint)
  if (channel?.state !== 'pending' || channel.shortChannelId !== null) return
  // Without an estimate it is raised all the same.
  const going = (await desk.feeRate?.(2).catch(() => 0)) ?? 0
  const feeRate = Math.min(desk.fees.maxRate, Math.max(opening.feeRate * 1.5, going))
  try {
    await desk.lightning.channels.bumpFee(opening.outpoint, feeRate, desk.fees.maxRate)
  } catch (error) {
    desk.log.warn({ order: orderId, reason: String(error) }, 'the fee of a funding cannot be raised')
  }
  // Also after a failure: the next try waits its blocks.
  record(desk, sale, { type: 'FeeRaised', height, feeRate })
}
