import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { Bug, Fault, assert } from '@penstock/kernel/result.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import { assertBeforeDeadline } from '@penstock/kernel/deadline.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { hitCrashPoint } from '@penstock/runtime/crash-points.ts'
import { isClaimable } from '../hold/heights.ts'
import type { Settlement } from '../state.ts'
import type { Outcome, SettlementEffectContext } from './ports.ts'

/** Timeout of a call. The effect runs again after a timeout, because the calls are safe to repeat. */
const ANSWER_TIMEOUT_MS = 30_000

/** Settles the hold. Only the state that the node reports afterwards counts, not the answer to the call. */
export async function settleHoldInvoice(
  { hold }: Settlement,
  { id, ports }: SettlementEffectContext,
): Promise<Outcome<'RecordSettled' | 'RecordNodeCancelled' | 'RecordSettlementMissed'>> {
  const { request } = hold
  assert(request, 'a hold has terms')
  const { lightning, keyring, clock } = ports
  const preimage = keyring.preimageOf(request.keyId, id, request.issue)
  // With a wrong keyring, this check stops a preimage that belongs to another payment.
  if (paymentHashOf(preimage) !== request.paymentHash)
    throw new Bug(`key "${request.keyId}" does not open this hold; use the keyring that it was created with`)
  const observedAt = clock.monotonicMs()
  const height = await readHighestHeight(ports)
  assertBeforeDeadline(clock, observedAt + ANSWER_TIMEOUT_MS)
  // An earlier call that timed out may have settled the hold, so the node's state counts at any height.
  const outcome = isClaimable(hold, height)
    ? await withTimeout(clock, ANSWER_TIMEOUT_MS, lightning.holds.settle(preimage))
    : 'too-late'
  hitCrashPoint('settlement.settle.before-look')
  const invoice = await withTimeout(clock, ANSWER_TIMEOUT_MS, lightning.holds.find(request.paymentHash))
  if (invoice?.state === 'settled') return toRecordSettled(invoice, clock.now())
  if (invoice?.state === 'cancelled') return { type: 'RecordNodeCancelled', data: { at: clock.now(), height } }
  if (outcome === 'too-late' && invoice) return { type: 'RecordSettlementMissed', data: { height } }
  throw new Fault(`the node answered "${outcome}" and shows the invoice ${invoice?.state ?? 'not at all'}`)
}

/**
 * Reads the higher height of the chain source and the node, because the payer may know all blocks of both.
 * @throws Fault while neither is in sync, because the real height is unknown then
 */
async function readHighestHeight({ lightning, chain, clock, network }: SettlementEffectContext['ports']): Promise<number> {
  const [node, tip] = await withTimeout(clock, ANSWER_TIMEOUT_MS, Promise.all([lightning.info(), chain.tip()]))
  // On regtest, both report themselves as unsynced if no block was mined for hours.
  if (network !== 'regtest' && !node.synced && !tip.synced) throw new Fault('the node has not caught up with the chain yet')
  return Math.max(node.height, tip.height)
}

/** The command for a payment that the node shows as settled. */
export const toRecordSettled = (invoice: Invoice, settledAt: number): Outcome<'RecordSettled'> => ({
  type: 'RecordSettled',
  data: { settledAt, receivedMsat: `${settledMsat(invoice)}` },
})

const settledMsat = ({ htlcs }: Invoice): bigint =>
  htlcs.reduce((sum, { state, amountMsat }) => (state === 'settled' ? sum + amountMsat : sum), 0n)
