import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { Bug, Fault, must } from '@penstock/kernel/result.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'
import { crashPoint } from '@penstock/runtime/crash-points.ts'
import type { Settlement } from '../state.ts'
import type { Context } from './ports.ts'

/** A call that is cut off is made again: both can be repeated. */
const ANSWER_TIMEOUT_MS = 30_000

/** Takes the buyer's money. What the node answers is a hint; the outcome is what it shows afterwards. */
export async function settle({ hold: { request } }: Settlement, { id, ports }: Context): Promise<Wanted<SettlementCommand>> {
  must(request, 'a hold has terms')
  const { lightning, keyring, chain, clock } = ports
  const preimage = keyring.preimageOf(request.keyId, id, request.issue)
  // A keyring that was mixed up must not give away a preimage that belongs to something else.
  if (paymentHashOf(preimage) !== request.paymentHash)
    throw new Bug(`key "${request.keyId}" does not open this hold; look for the keyring that it was made with`)
  const outcome = await within(clock, ANSWER_TIMEOUT_MS, lightning.holds.settle(preimage))
  crashPoint('settlement.settle.before-look')
  const invoice = await within(clock, ANSWER_TIMEOUT_MS, lightning.holds.find(request.paymentHash))
  if (invoice?.state === 'settled')
    return { type: 'RecordSettled', data: { settledAt: clock.now(), receivedMsat: `${settledMsat(invoice)}` } }
  if (invoice?.state === 'cancelled') {
    const { height } = await chain.tip()
    return { type: 'RecordNodeCancelled', data: { at: clock.now(), height } }
  }
  throw new Fault(`the node answered "${outcome}" and shows the invoice ${invoice?.state ?? 'not at all'}`)
}

const settledMsat = ({ htlcs }: Invoice): bigint =>
  htlcs.reduce((sum, { state, amountMsat }) => (state === 'settled' ? sum + amountMsat : sum), 0n)
